#include "text/decoder.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/byte_tokens.h"
#include "text/characters.h"

namespace kvern::text {
namespace {

using StepState = Decoder::StepState;
using Tokens = std::vector<std::string>;

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

void emit(std::string text, Tokens& out) {
  if (!text.empty()) out.push_back(std::move(text));
}

// Each step has feed(), which maps a token, and end(), which gives up what was held back.

void feed(const DecodeByteLevel&, StepState& state, std::string token, bool, Tokens& out) {
  if (!append_bytes_of_characters(state.pending, token)) state.pending += token;
  emit(take_characters(state.pending, false, Invalid::kPerRun), out);
}
void end(const DecodeByteLevel&, StepState& state, bool, Tokens& out) {
  emit(take_characters(state.pending, true, Invalid::kPerRun), out);
}

void feed(const DecodeByteFallback&, StepState& state, std::string token, bool, Tokens& out) {
  if (const auto byte = byte_of_token_text(token)) {
    state.pending += static_cast<char>(*byte);
    emit(take_characters(state.pending, false, Invalid::kPerByte), out);
    return;
  }
  emit(take_characters(state.pending, true, Invalid::kPerByte), out);
  out.push_back(std::move(token));
}
void end(const DecodeByteFallback&, StepState& state, bool, Tokens& out) {
  emit(take_characters(state.pending, true, Invalid::kPerByte), out);
}

void feed(const DecodeFuse&, StepState&, std::string token, bool, Tokens& out) {
  emit(std::move(token), out);
}
void end(const DecodeFuse&, StepState&, bool, Tokens&) {}

void feed(const DecodeReplace& step, StepState&, std::string token, bool, Tokens& out) {
  out.push_back(step.replacement.apply(token));
}
void end(const DecodeReplace&, StepState&, bool, Tokens&) {}

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

void feed(const DecodeStrip& step, StepState& state, std::string token, bool fused, Tokens& out) {
  std::string_view text = token;
  if (!fused) {
    strip_front(text, step.character, step.start);
    strip_back(text, step.character, step.stop);
    out.emplace_back(text);
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
  emit(std::string(certain), out);
  state.pending.erase(0, length);
}
void end(const DecodeStrip&, StepState& state, bool, Tokens&) { state.pending.clear(); }

void feed(const DecodeMetaspace& step, StepState& state, std::string token, bool fused, Tokens& out) {
  const bool first = fused || state.seen++ == 0;
  const bool drop = first && !step.keep_first;
  const Replacement spaces{.pattern = Pattern{.literal = step.replacement, .regex = {}},
                           .content = drop ? "" : " "};
  out.push_back(spaces.apply(token));
}
void end(const DecodeMetaspace&, StepState&, bool, Tokens&) {}

void feed(const DecodeJoinWithSpaces&, StepState& state, std::string token, bool, Tokens& out) {
  std::string text = state.seen++ > 0 ? " " : "";
  text += token;
  out.push_back(std::move(text));
}
void end(const DecodeJoinWithSpaces&, StepState&, bool, Tokens&) {}

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

void Decoder::run(State& state, size_t from, Tokens tokens, std::string& out) const {
  for (size_t i = from; i < steps_.size() && !tokens.empty(); ++i) {
    Tokens next;
    for (std::string& token : tokens)
      std::visit(
          [&](const auto& step) { feed(step, state.steps[i], std::move(token), steps_[i].fused, next); },
          steps_[i].step);
    tokens = std::move(next);
  }
  for (const std::string& token : tokens) out += token;
}

std::string Decoder::push(State& state, std::string_view token) const {
  std::string out;
  run(state, 0, {std::string(token)}, out);
  return out;
}

std::string Decoder::finish(State& state) const {
  std::string out;
  for (size_t i = 0; i < steps_.size(); ++i) {
    Tokens rest;
    std::visit([&](const auto& step) { end(step, state.steps[i], steps_[i].fused, rest); }, steps_[i].step);
    run(state, i + 1, std::move(rest), out);
  }
  return out;
}

}  // namespace kvern::text
