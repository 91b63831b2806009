// Vocabularies and readers for the tests of grammars.
#pragma once

#include <algorithm>
#include <bit>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/grammar/grammar.h"
#include "text/grammar/token_table.h"
#include "text/tokenizer.h"

namespace kvern::test {

using text::Grammar;
using text::GrammarState;
using text::GrammarVocabulary;
using text::TokenId;
using text::TokenMask;

/// Token 0 ends a text; 1 to 256 are the bytes; then come `pieces`, then control tokens, which are no text.
inline std::shared_ptr<const GrammarVocabulary> byte_vocabulary(
    const std::vector<std::string>& pieces = {}, const std::vector<std::string>& control = {}) {
  std::vector<std::string> bytes{""};
  text::Vocabulary names;
  names.add("<end>", 0);
  for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
  for (const std::string& piece : pieces) bytes.push_back(piece);
  for (const std::string& name : control) {
    names.add(name, static_cast<TokenId>(bytes.size()));
    bytes.emplace_back();
  }
  return std::make_shared<const text::grammar::TokenTable>(std::move(bytes), std::move(names),
                                                           std::vector<TokenId>{0});
}
inline constexpr TokenId kEnd = 0;

/// Only these tokens, and the end.
inline std::shared_ptr<const GrammarVocabulary> vocabulary_of(const std::vector<std::string>& pieces) {
  std::vector<std::string> bytes{""};
  bytes.insert(bytes.end(), pieces.begin(), pieces.end());
  return std::make_shared<const text::grammar::TokenTable>(std::move(bytes), text::Vocabulary{},
                                                           std::vector<TokenId>{0});
}

inline bool has(const TokenMask& mask, TokenId token) {
  return (mask[static_cast<size_t>(token) / 64] >> (static_cast<size_t>(token) % 64) & 1U) != 0;
}
inline std::vector<TokenId> tokens_in(const TokenMask& mask) {
  std::vector<TokenId> tokens;
  for (size_t word = 0; word < mask.size(); ++word)
    for (uint64_t bits = mask[word]; bits != 0; bits &= bits - 1)
      tokens.push_back(static_cast<TokenId>(word * 64 + static_cast<size_t>(std::countr_zero(bits))));
  return tokens;
}

/// The token of one byte in byte_vocabulary().
inline TokenId byte_token(char byte) { return static_cast<uint8_t>(byte) + 1; }

/// Feeds the bytes one by one; false at the first that is refused by mask or accept, which must agree.
inline bool takes_bytes(GrammarState& state, std::string_view text) {
  TokenMask mask;
  for (const char byte : text) {
    state.fill_mask(mask);
    const bool allowed = has(mask, byte_token(byte));
    const bool accepted = state.accept(byte_token(byte));
    if (allowed != accepted) throw std::logic_error("mask and accept differ");
    if (!accepted) return false;
  }
  return true;
}
inline bool may_end(const GrammarState& state) {
  TokenMask mask;
  state.fill_mask(mask);
  return has(mask, kEnd);
}
/// The whole text matches, over byte_vocabulary().
inline bool matches(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  GrammarState state(grammar);
  return takes_bytes(state, text) && may_end(state);
}

/// A text made of random allowed tokens; nothing if it has not ended after so many. `bytes_of` gives a
/// token's bytes. Long texts are brought to an end by preferring closing brackets and quotes.
struct WalkOptions {
  uint32_t seed = 0;
  size_t max_tokens = 400;
  /// From here on, tokens that close something are taken when there are any.
  size_t hurry_after = 120;
};
template <typename BytesOf>
std::optional<std::string> random_walk(const std::shared_ptr<const Grammar>& grammar,
                                       const WalkOptions& options, const BytesOf& bytes_of,
                                       const std::vector<TokenId>& ends) {
  std::mt19937 random(options.seed);
  GrammarState state(grammar);
  TokenMask mask;
  std::string text;
  std::vector<TokenId> closers = ends;
  for (size_t id = 0; id < grammar->vocabulary().size(); ++id) {
    const std::string bytes = bytes_of(static_cast<TokenId>(id));
    if (bytes == "}" || bytes == "]" || bytes == "\"") closers.push_back(static_cast<TokenId>(id));
  }
  for (size_t step = 0; step < options.max_tokens; ++step) {
    state.fill_mask(mask);
    std::vector<TokenId> allowed = tokens_in(mask);
    if (allowed.empty()) throw std::logic_error("no token is allowed");
    if (step > options.hurry_after) {
      std::vector<TokenId> closing;
      for (const TokenId token : closers)
        if (has(mask, token)) closing.push_back(token);
      if (!closing.empty()) allowed = closing;
    }
    const TokenId token = allowed[random() % allowed.size()];
    if (!state.accept(token)) throw std::logic_error("an allowed token was refused");
    if (std::ranges::find(ends, token) != ends.end()) return text;
    text += bytes_of(token);
  }
  return std::nullopt;
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace kvern::test
