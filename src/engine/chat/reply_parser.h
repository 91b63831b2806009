// Takes an assistant's text apart while it is being written: what it thought, what it says, which tools it
// calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/chat/call_reader.h"
#include "engine/chat/tool_call_style.h"

namespace kvern::engine {

struct ReplyFormat {
  /// kNone: calls are text like any other.
  ToolCallStyle calls = ToolCallStyle::kNone;
  /// The functions that were offered. For kBareJson, where any JSON could be meant, only their names make a
  /// call.
  std::vector<std::string> tools;
  /// Only the first call counts; all that follows it is dropped.
  bool single_call = false;
  /// <think>…</think> at the beginning is reasoning.
  bool reasoning = false;
  /// The prompt has written <think> already.
  bool begins_in_reasoning = false;
};

/// A piece of a reply.
struct ReplyDelta {
  enum class Kind : uint8_t {
    kReasoning,
    kContent,
    kCallBegin,      ///< `text` is the function's name
    kCallArguments,  ///< `text` is the next piece of the arguments
  };
  Kind kind = Kind::kContent;
  std::string text;
  size_t call = 0;  ///< which call, counted from 0
  bool operator==(const ReplyDelta&) const = default;
};

/// The deltas, those of one kind and call joined, do not depend on how the text was cut: it reads bytes, one
/// after the other. Each piece is valid UTF-8 if each text pushed was.
///
/// White space around reasoning and around calls is dropped, as is what separates calls; only between content
/// before and content behind calls the space that follows the calls stays. A call stands once its name and
/// the beginning of its arguments are known; what looked like a call before that and was none, or was not
/// finished, is content, as it was written. A call that was cut short later keeps the arguments it had (then
/// the reply has ended for its length).
///
/// One thread. Time linear in the text.
class ReplyParser {
 public:
  explicit ReplyParser(ReplyFormat format);
  void push(std::string_view text, std::vector<ReplyDelta>& out);
  /// The end of the text: gives out what was held back.
  void finish(std::vector<ReplyDelta>& out);
  /// How many calls there are.
  size_t calls() const { return calls_; }
  /// Nothing that follows can change the result.
  bool complete() const { return state_ == State::kIgnore; }
  /// What comes next is, or may still become, reasoning.
  bool in_reasoning() const { return state_ == State::kReasoning; }

 private:
  enum class State : uint8_t {
    kStart,      ///< before the first character that is no space
    kReasoning,  ///< between <think> and </think>
    kContent,
    kList,       ///< behind [TOOL_CALLS]
    kCall,       ///< in the JSON of a call
    kAfterCall,  ///< behind it
    kIgnore,
  };

  void step(char c);
  void step_start(char c);
  void step_reasoning(char c);
  void step_content(char c);
  void step_list(char c);
  void step_call(char c);
  void step_after_call(char c);

  void add(ReplyDelta::Kind kind, std::string_view text);
  void add_held(ReplyDelta::Kind kind);
  void begin_call(State state);
  void give_back();
  void flush_arguments();
  void end_call();

  ReplyFormat format_;
  State state_ = State::kStart;
  std::vector<ReplyDelta>* out_ = nullptr;  // during push() and finish()
  std::string space_;                       // white space that may turn out to stand before a marker
  std::string held_;                        // the beginning of a marker
  std::string raw_;                         // all that a call would be given back as
  CallReader reader_;
  size_t calls_ = 0;
  bool announced_ = false;    // the call that is read has been given out
  bool skip_space_ = false;   // at the beginning of content that follows something
  bool behind_call_ = false;  // nothing but space has followed the last call
  bool has_content_ = false;
  bool may_call_ = true;  // for kBareJson: nothing but calls has been written
};

}  // namespace kvern::engine
