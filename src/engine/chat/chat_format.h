// How one model is talked to: its template, ready to be used, and how it writes what is more than text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/chat/tool_call_style.h"
#include "engine/chat/user_text.h"
#include "engine/load/engine.h"
#include "text/template/chat_template.h"

namespace kvern::engine {

/// Made once for an engine, which outlives it. Immutable, thread-safe.
class ChatFormat {
 public:
  /// Parses the model's template. Errors: no tokenizer, no template, a template that is wrong.
  static Result<std::shared_ptr<const ChatFormat>> create(const Engine& engine);

  const ChatTemplate& chat_template() const { return *template_; }
  const text::Tokenizer& tokenizer() const { return tokenizer_; }
  const UserText& user_text() const { return user_text_; }
  /// The spelling of the tokens; empty where the tokenizer has none.
  const std::string& bos() const { return bos_; }
  const std::string& eos() const { return eos_; }

  ToolCallStyle tool_call_style() const { return tool_call_style_; }
  /// The template speaks of <think>: replies may begin with reasoning.
  bool reasons() const { return mentions(kThinkClose); }
  /// The template's source contains these words: a variable that it does not mention cannot change anything.
  bool mentions(std::string_view words) const { return source_.find(words) != std::string::npos; }
  /// The literal of a special token that marks reasoning or a call. Decoders leave special tokens out of the
  /// text, so who parses replies must put these back. Empty for every other token.
  std::string_view marker(text::TokenId token) const;

 private:
  ChatFormat(const text::Tokenizer& tokenizer, std::string source, std::unique_ptr<ChatTemplate> parsed);

  const text::Tokenizer& tokenizer_;
  std::string source_;
  std::unique_ptr<const ChatTemplate> template_;
  UserText user_text_;
  std::string bos_;
  std::string eos_;
  ToolCallStyle tool_call_style_ = ToolCallStyle::kNone;
  std::vector<std::pair<text::TokenId, std::string_view>> markers_;
};

}  // namespace kvern::engine
