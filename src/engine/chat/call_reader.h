// Reads the JSON object of one tool call while it is being written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvern::engine {

/// Finds where a JSON value ends: nesting and strings are followed, the rest is taken as it comes. One
/// thread.
class JsonSpan {
 public:
  enum class Step : uint8_t {
    kInside,
    kLast,    ///< this character ends the value
    kBehind,  ///< the value (a number or word) ended before this character
    kInvalid,
  };
  Step push(char c);
  void reset() { *this = {}; }

 private:
  Step push_in_string(char c);

  std::string open_;  // the brackets that are open
  bool begun_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
};

/// {"name": "f", "arguments": {…}}: the keys in any order, "parameters" means "arguments", others are
/// skipped. Arguments may be an object, a string that holds one (as OpenAI's API has them), null or absent
/// (both: {}). One thread.
class CallReader {
 public:
  enum class Progress : uint8_t { kMore, kDone, kInvalid };
  /// Takes one more byte of the text. After kDone and kInvalid only reset() may be called.
  Progress push(char c);
  void reset() { *this = {}; }

  /// The name is known and the arguments have begun: nothing can undo the call any more. Always true after
  /// kDone.
  bool begun() const { return begun_; }
  const std::string& name() const { return name_; }
  /// What became known of the arguments since the last call. As the model wrote them: not checked to be JSON.
  std::string take_arguments();

 private:
  enum class State : uint8_t { kBefore, kKeyOrEnd, kKey, kInKey, kColon, kValue, kInValue, kNext };
  enum class Member : uint8_t { kName, kArguments, kOther };

  Progress end_of_key();
  Progress begin_value(char c);
  Progress push_value(char c);
  Progress end_of_value();
  Progress end_of_object();

  State state_ = State::kBefore;
  Member member_ = Member::kOther;
  JsonSpan span_;
  std::string token_;  // the key or value that is being read, as long as it is not streamed
  std::string name_;
  bool named_ = false;
  bool begun_ = false;
  bool streaming_ = false;                // the value being read goes straight to the caller
  std::optional<std::string> arguments_;  // a value that came before the name, or that was a string
  std::string out_;
};

}  // namespace kvern::engine
