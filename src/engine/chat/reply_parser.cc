#include "engine/chat/reply_parser.h"

#include <algorithm>
#include <utility>

namespace kvern::engine {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/// True when `held` and then `c` begin `marker`. No marker repeats its first character, so what does not go
/// on as the marker can begin it anew at `c` at the earliest.
bool goes_on(std::string_view marker, std::string_view held, char c) {
  return held.size() < marker.size() && marker[held.size()] == c;
}

}  // namespace

ReplyParser::ReplyParser(ReplyFormat format) : format_(std::move(format)) {
  if (format_.begins_in_reasoning) {
    state_ = State::kReasoning;
    skip_space_ = true;
  } else if (!format_.reasoning) {
    state_ = State::kContent;
  }
}

void ReplyParser::push(std::string_view text, std::vector<ReplyDelta>& out) {
  out_ = &out;
  for (const char c : text) step(c);
  if (state_ == State::kCall) flush_arguments();
  out_ = nullptr;
}

void ReplyParser::finish(std::vector<ReplyDelta>& out) {
  out_ = &out;
  switch (state_) {
    case State::kContent:
      if (behind_call_ && held_.empty()) break;
      [[fallthrough]];
    case State::kStart:
      add_held(ReplyDelta::Kind::kContent);
      break;
    case State::kReasoning:
      if (!held_.empty()) add_held(ReplyDelta::Kind::kReasoning);
      break;
    case State::kList:
    case State::kCall:
      if (announced_) break;
      give_back();
      add_held(ReplyDelta::Kind::kContent);
      break;
    case State::kAfterCall:
    case State::kIgnore:
      break;
  }
  state_ = State::kIgnore;
  out_ = nullptr;
}

void ReplyParser::step(char c) {
  switch (state_) {
    case State::kStart:
      return step_start(c);
    case State::kReasoning:
      return step_reasoning(c);
    case State::kContent:
      return step_content(c);
    case State::kList:
      return step_list(c);
    case State::kCall:
      return step_call(c);
    case State::kAfterCall:
      return step_after_call(c);
    case State::kIgnore:
      return;
  }
}

void ReplyParser::step_start(char c) {
  if (held_.empty() && is_space(c)) {
    space_ += c;
    return;
  }
  if (goes_on(kThinkOpen, held_, c)) {
    held_ += c;
    if (held_.size() < kThinkOpen.size()) return;
    held_.clear();
    space_.clear();
    skip_space_ = true;
    state_ = State::kReasoning;
    return;
  }
  // No reasoning: what was held is read again as content.
  state_ = State::kContent;
  const std::string text = std::exchange(space_, {}) + std::exchange(held_, {});
  for (const char earlier : text) step(earlier);
  step(c);
}

void ReplyParser::step_reasoning(char c) {
  if (goes_on(kThinkClose, held_, c)) {
    held_ += c;
    if (held_.size() < kThinkClose.size()) return;
    held_.clear();
    space_.clear();
    skip_space_ = true;
    state_ = State::kContent;
    return;
  }
  if (!held_.empty()) {
    add_held(ReplyDelta::Kind::kReasoning);
    return step_reasoning(c);
  }
  if (is_space(c)) {
    if (!skip_space_) space_ += c;
    return;
  }
  space_ += c;
  add_held(ReplyDelta::Kind::kReasoning);
}

void ReplyParser::step_content(char c) {
  const std::string_view marker = may_call_ ? opening_marker(format_.calls) : "";
  if (goes_on(marker, held_, c)) {
    held_ += c;
    if (held_.size() == marker.size())
      begin_call(format_.calls == ToolCallStyle::kBracketed ? State::kList : State::kCall);
    return;
  }
  if (!held_.empty()) {
    add_held(ReplyDelta::Kind::kContent);
    return step_content(c);
  }
  if (is_space(c)) {
    if (!skip_space_) space_ += c;
    // Nothing can follow that would make this space part of a call.
    if (marker.empty()) add_held(ReplyDelta::Kind::kContent);
    return;
  }
  if (format_.calls == ToolCallStyle::kBareJson && may_call_ && c == '{') {
    begin_call(State::kCall);
    return step(c);
  }
  space_ += c;
  add_held(ReplyDelta::Kind::kContent);
}

void ReplyParser::step_list(char c) {
  if (is_space(c)) {
    raw_ += c;
    return;
  }
  state_ = State::kCall;
  if (c == '[') {
    raw_ += c;
    return;
  }
  step(c);
}

void ReplyParser::step_call(char c) {
  const CallReader::Progress progress = reader_.push(c);
  const bool known = format_.calls != ToolCallStyle::kBareJson || !reader_.begun() ||
                     std::ranges::find(format_.tools, reader_.name()) != format_.tools.end();
  if (progress == CallReader::Progress::kInvalid || !known) {
    if (announced_) {
      flush_arguments();
      end_call();
      if (state_ != State::kIgnore) state_ = State::kContent;
    } else {
      give_back();
    }
    return step(c);
  }
  raw_ += c;
  if (reader_.begun() && !announced_) {
    announced_ = true;
    out_->push_back({.kind = ReplyDelta::Kind::kCallBegin, .text = reader_.name(), .call = calls_++});
  }
  if (announced_) raw_.clear();
  if (progress != CallReader::Progress::kDone) return;
  flush_arguments();
  end_call();
}

void ReplyParser::step_after_call(char c) {
  const std::string_view marker = closing_marker(format_.calls);
  if (goes_on(marker, held_, c)) {
    held_ += c;
    if (held_.size() < marker.size()) return;
    held_.clear();
    space_.clear();
    state_ = State::kContent;
    return;
  }
  if (held_.empty()) {
    if (is_space(c)) {
      if (!skip_space_) space_ += c;
      return;
    }
    const bool separator = (format_.calls == ToolCallStyle::kBracketed && c == ',') ||
                           (format_.calls == ToolCallStyle::kBareJson && c == ';');
    if (separator) {
      space_.clear();
      state_ = State::kCall;
      return;
    }
    if (format_.calls == ToolCallStyle::kBracketed && c == ']') {
      state_ = State::kContent;
      return;
    }
  }
  state_ = State::kContent;
  const std::string text = std::exchange(held_, {});
  for (const char earlier : text) step(earlier);
  step(c);
}

void ReplyParser::add(ReplyDelta::Kind kind, std::string_view text) {
  if (text.empty()) return;
  const size_t call = kind == ReplyDelta::Kind::kCallArguments ? calls_ - 1 : 0;
  if (!out_->empty() && out_->back().kind == kind && out_->back().call == call) {
    out_->back().text += text;
  } else {
    out_->push_back({.kind = kind, .text = std::string(text), .call = call});
  }
}

/// Gives out the space and the beginning of a marker: they turned out to be text.
void ReplyParser::add_held(ReplyDelta::Kind kind) {
  const std::string text = std::exchange(space_, {}) + std::exchange(held_, {});
  if (text.empty()) return;
  skip_space_ = false;
  behind_call_ = false;
  has_content_ = has_content_ || kind == ReplyDelta::Kind::kContent;
  // Content of white space alone does not end the hope for bare JSON.
  if (kind == ReplyDelta::Kind::kContent && format_.calls == ToolCallStyle::kBareJson) may_call_ = false;
  add(kind, text);
}

void ReplyParser::begin_call(State state) {
  raw_ = std::exchange(space_, {}) + std::exchange(held_, {});
  reader_.reset();
  announced_ = false;
  state_ = state;
}

/// What was taken for a call is content. Space at its end may still stand before a call.
void ReplyParser::give_back() {
  const size_t end = raw_.find_last_not_of(" \n\r\t") + 1;
  held_ = raw_.substr(0, end);
  add_held(ReplyDelta::Kind::kContent);
  space_ = raw_.substr(end);
  raw_.clear();
  reader_.reset();
  state_ = State::kContent;
}

void ReplyParser::flush_arguments() {
  if (announced_) add(ReplyDelta::Kind::kCallArguments, reader_.take_arguments());
}

void ReplyParser::end_call() {
  reader_.reset();
  raw_.clear();
  announced_ = false;
  // Space parts the content before a call from that behind it; where there is only one, it parts nothing.
  skip_space_ = !has_content_;
  behind_call_ = true;
  state_ = format_.single_call ? State::kIgnore : State::kAfterCall;
}

}  // namespace kvern::engine
