#include "engine/chat/call_reader.h"

#include <utility>

#include "base/json.h"

namespace kvern::engine {
namespace {

constexpr size_t kMaxDepth = 64;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/// The text of a JSON string; none when it is not one.
std::optional<std::string> string_of(std::string_view literal) {
  const auto value = parse_json(literal, "");
  if (!value || !value->is_string()) return std::nullopt;
  return std::string(value->as_string());
}

}  // namespace

JsonSpan::Step JsonSpan::push_in_string(char c) {
  if (escaped_) {
    escaped_ = false;
  } else if (c == '\\') {
    escaped_ = true;
  } else if (c == '"') {
    in_string_ = false;
    if (open_.empty()) return Step::kLast;
  }
  return Step::kInside;
}

JsonSpan::Step JsonSpan::push(char c) {
  if (in_string_) return push_in_string(c);
  if (open_.empty() && begun_ && (is_space(c) || c == ',' || c == '}' || c == ']')) return Step::kBehind;
  switch (c) {
    case '"':
      // After a number or word at the outermost level nothing but its end may come.
      if (open_.empty() && begun_) return Step::kInvalid;
      in_string_ = true;
      break;
    case '{':
    case '[':
      if ((open_.empty() && begun_) || open_.size() == kMaxDepth) return Step::kInvalid;
      open_ += c;
      break;
    case '}':
    case ']':
      if (open_.empty() || open_.back() != (c == '}' ? '{' : '[')) return Step::kInvalid;
      open_.pop_back();
      if (open_.empty()) return Step::kLast;
      break;
    default:
      break;
  }
  begun_ = true;
  return Step::kInside;
}

CallReader::Progress CallReader::push(char c) {
  switch (state_) {
    case State::kBefore:
      if (is_space(c)) return Progress::kMore;
      state_ = State::kKeyOrEnd;
      return c == '{' ? Progress::kMore : Progress::kInvalid;
    case State::kKeyOrEnd:
    case State::kKey:
      if (is_space(c)) return Progress::kMore;
      if (c == '}' && state_ == State::kKeyOrEnd) return end_of_object();
      if (c != '"') return Progress::kInvalid;
      token_.clear();
      state_ = State::kInKey;
      [[fallthrough]];
    case State::kInKey:
      token_ += c;
      return span_.push(c) == JsonSpan::Step::kLast ? end_of_key() : Progress::kMore;
    case State::kColon:
      if (is_space(c)) return Progress::kMore;
      state_ = State::kValue;
      return c == ':' ? Progress::kMore : Progress::kInvalid;
    case State::kValue:
      return is_space(c) ? Progress::kMore : begin_value(c);
    case State::kInValue:
      return push_value(c);
    case State::kNext:
      if (is_space(c)) return Progress::kMore;
      if (c == '}') return end_of_object();
      state_ = State::kKey;
      return c == ',' ? Progress::kMore : Progress::kInvalid;
  }
  return Progress::kInvalid;
}

std::string CallReader::take_arguments() { return std::exchange(out_, {}); }

CallReader::Progress CallReader::end_of_key() {
  span_.reset();
  const auto key = string_of(token_);
  if (!key) return Progress::kInvalid;
  member_ = *key == "name"                                ? Member::kName
            : *key == "arguments" || *key == "parameters" ? Member::kArguments
                                                          : Member::kOther;
  // What has begun stays as it began.
  if (member_ == Member::kName && named_) member_ = Member::kOther;
  if (member_ == Member::kArguments && (begun_ || arguments_)) member_ = Member::kOther;
  state_ = State::kColon;
  return Progress::kMore;
}

CallReader::Progress CallReader::begin_value(char c) {
  token_.clear();
  state_ = State::kInValue;
  streaming_ = member_ == Member::kArguments && named_ && c == '{';
  begun_ = begun_ || streaming_;
  return push_value(c);
}

CallReader::Progress CallReader::push_value(char c) {
  const JsonSpan::Step step = span_.push(c);
  if (step == JsonSpan::Step::kInvalid) return Progress::kInvalid;
  if (step != JsonSpan::Step::kBehind && member_ != Member::kOther) (streaming_ ? out_ : token_) += c;
  if (step == JsonSpan::Step::kInside) return Progress::kMore;
  const Progress progress = end_of_value();
  return step == JsonSpan::Step::kBehind && progress == Progress::kMore ? push(c) : progress;
}

CallReader::Progress CallReader::end_of_value() {
  span_.reset();
  state_ = State::kNext;
  if (member_ == Member::kOther || std::exchange(streaming_, false)) return Progress::kMore;
  if (member_ == Member::kName) {
    auto name = string_of(token_);
    if (!name || name->empty()) return Progress::kInvalid;
    name_ = *std::move(name);
    named_ = true;
    return Progress::kMore;
  }
  if (token_.front() == '"') {
    arguments_ = string_of(token_);
    return arguments_ ? Progress::kMore : Progress::kInvalid;
  }
  if (token_ != "null" && token_.front() != '{') return Progress::kInvalid;
  arguments_ = token_ == "null" ? "{}" : token_;
  return Progress::kMore;
}

CallReader::Progress CallReader::end_of_object() {
  if (!named_) return Progress::kInvalid;
  if (!begun_) out_ = arguments_.value_or("{}");
  begun_ = true;
  return Progress::kDone;
}

}  // namespace kvern::engine
