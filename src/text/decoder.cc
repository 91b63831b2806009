#include "text/decoder.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/byte_tokens.h"
#include "text/characters.h"

namespace kvern::text {
namespace {

using StepState = Decoder::StepState;

enum class Invalid : uint8_t {
  kPerRun,   ///< One U+FFFD for each ill-formed beginning of a character.
  kPerByte,  ///< One for each byte.
};

/// Moves whole characters from the front of `bytes` to the result; with `last`, everything.
std::string take_characters(std::string& bytes, bool last, Invalid invalid) {
  const size_t keep = last ? 0 : incomplete_utf8_suffix(bytes);
  std::string_view rest = std::string_view(bytes).substr(0, bytes.size() - keep);
  std::string out;
  while (!rest.empty()) {
    const Utf8Step step = decode_utf8(rest);
    if (step.valid) {
      out += rest.substr(0, step.length);
    } else {
      const size_t count = invalid == Invalid::kPerByte ? step.length : 1;
      for (size_t i = 0; i < count; ++i) append_utf8(out, kReplacementCharacter);
    }
    rest.remove_prefix(step.length);
  }
  bytes.erase(0, bytes.size() - keep);
  return out;
}

// Each step has feed(), which maps a token, and end(), which gives up what was held back. What they call is
// the rest of the chain: next(std::string), and give() where an empty text is none.

template <typename Next>
void give(std::string text, const Next& next) {
  if (!text.empty()) next(std::move(text));
}

template <typename Next>
void feed(const DecodeByteLevel&, StepState& state, std::string token, bool, const Next& next) {
  if (!append_bytes_of_characters(state.pending, token)) state.pending += token;
  give(take_characters(state.pending, false, Invalid::kPerRun), next);
}
template <typename Next>
void end(const DecodeByteLevel&, StepState& state, bool, const Next& next) {
  give(take_characters(state.pending, true, Invalid::kPerRun), next);
}

template <typename Next>
void feed(const DecodeByteFallback&, StepState& state, std::string token, bool, const Next& next) {
  if (const auto byte = byte_of_token_text(token)) {
    state.pending += static_cast<char>(*byte);
    give(take_characters(state.pending, false, Invalid::kPerByte), next);
    return;
  }
  give(take_characters(state.pending, true, Invalid::kPerByte), next);
  next(std::move(token));
}
template <typename Next>
void end(const DecodeByteFallback&, StepState& state, bool, const Next& next) {
  give(take_characters(state.pending, true, Invalid::kPerByte), next);
}

template <typename Next>
void feed(const DecodeFuse&, StepState&, std::string token, bool, const Next& next) {
  give(std::move(token), next);
}
template <typename Next>
void end(const DecodeFuse&, StepState&, bool, const Next&) {}

template <typename Next>
void feed(const DecodeReplace& step, StepState&, std::string token, bool, const Next& next) {
  next(step.replacement.apply(token));
}
template <typename Next>
void end(const DecodeReplace&, StepState&, bool, const Next&) {}

/// Removes up to `limit` of `character` from the front of `text`; how many.
size_t strip_front(std::string_view& text, std::string_view character, size_t limit) {
  size_t count = 0;
  for (; count < limit && text.starts_with(character); ++count) text.remove_prefix(character.size());
  return count;
}

size_t strip_back(std::string_view& text, std::string_view character, size_t limit) {
  size_t count = 0;
  for (; count < limit && text.ends_with(character); ++count) text.remove_suffix(character.size());
  return count;
}

template <typename Next>
void feed(const DecodeStrip& step, StepState& state, std::string token, bool fused, const Next& next) {
  std::string_view text = token;
  if (!fused) {
    strip_front(text, step.character, step.start);
    strip_back(text, step.character, step.stop);
    next(std::string(text));
    return;
  }
  if (!state.past_start) {
    state.seen += strip_front(text, step.character, step.start - state.seen);
    state.past_start = state.seen == step.start || !text.empty();
  }
  // The last characters may turn out to be the end.
  state.pending += text;
  std::string_view certain = state.pending;
  strip_back(certain, step.character, step.stop);
  const size_t length = certain.size();
  give(std::string(certain), next);
  state.pending.erase(0, length);
}
template <typename Next>
void end(const DecodeStrip&, StepState& state, bool, const Next&) {
  state.pending.clear();
}

template <typename Next>
void feed(const DecodeMetaspace& step, StepState& state, std::string token, bool fused, const Next& next) {
  const bool first = fused || state.seen++ == 0;
  const bool drop = first && !step.keep_first;
  const Replacement spaces{.pattern = Pattern{.literal = step.replacement, .regex = {}},
                           .content = drop ? "" : " "};
  next(spaces.apply(token));
}
template <typename Next>
void end(const DecodeMetaspace&, StepState&, bool, const Next&) {}

template <typename Next>
void feed(const DecodeJoinWithSpaces&, StepState& state, std::string token, bool, const Next& next) {
  std::string text = state.seen++ > 0 ? " " : "";
  text += token;
  next(std::move(text));
}
template <typename Next>
void end(const DecodeJoinWithSpaces&, StepState&, bool, const Next&) {}

bool fuses(const DecoderStep& step) {
  return std::holds_alternative<DecodeByteLevel>(step) || std::holds_alternative<DecodeFuse>(step);
}

}  // namespace

void Decoder::add(DecoderStep step) {
  const bool fused = fused_;
  fused_ |= fuses(step);
  steps_.push_back({.step = std::move(step), .fused = fused});
}

bool Decoder::maps_bytes() const {
  return std::ranges::any_of(
      steps_, [](const Entry& entry) { return std::holds_alternative<DecodeByteLevel>(entry.step); });
}

std::string Decoder::space_mark() const {
  for (const Entry& entry : steps_) {
    if (const auto* step = std::get_if<DecodeMetaspace>(&entry.step)) return step->replacement;
    const auto* step = std::get_if<DecodeReplace>(&entry.step);
    if (step != nullptr && step->replacement.content == " ") return step->replacement.pattern.literal;
  }
  return {};
}

void Decoder::run(State& state, size_t from, std::string token, std::string& out) const {
  if (from == steps_.size()) {
    out += token;
    return;
  }
  const auto next = [&](std::string text) { run(state, from + 1, std::move(text), out); };
  std::visit(
      [&](const auto& step) { feed(step, state.steps[from], std::move(token), steps_[from].fused, next); },
      steps_[from].step);
}

std::string Decoder::push(State& state, std::string_view token) const {
  std::string out;
  run(state, 0, std::string(token), out);
  return out;
}

std::string Decoder::finish(State& state) const {
  std::string out;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const auto next = [&](std::string text) { run(state, i + 1, std::move(text), out); };
    std::visit([&](const auto& step) { end(step, state.steps[i], steps_[i].fused, next); }, steps_[i].step);
  }
  return out;
}

}  // namespace kvern::text
