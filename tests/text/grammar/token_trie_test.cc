#include "text/grammar/token_trie.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace kvern::text::grammar {
namespace {

const std::vector<std::string> kTexts{"a",        "ab",        "abc",      "a1\"x",       "a\u00e9b",
                                      "a\u65e5",  "a\xE6\x97", "b1",       "b\x80tail",   " ",
                                      "  then\n", "\u00e9\"",  "\xF0\x9F", "\xED\xA0\x80"};

TokenTrie trie_of(const std::vector<std::string>& texts) {
  std::vector<TokenTrie::Token> tokens;
  for (size_t i = 0; i < texts.size(); ++i)
    tokens.push_back({.bytes = texts[i], .id = static_cast<TokenId>(i)});
  return TokenTrie(std::move(tokens));
}

/// A byte of each kind tells the kinds of a text: those that are lost when it is forbidden.
bool has_ascii(TextKinds kinds, char byte) {
  ByteSet bytes;
  bytes.set(static_cast<uint8_t>(byte));
  return (kinds & ~kinds_without(bytes) & ~kCharacters & ~kIllFormed) != 0;
}

/// The longest beginning of UTF-8 is all of it, or what is left may still become a character.
bool well_formed(std::string_view text) {
  text.remove_suffix(incomplete_utf8_suffix(text));
  return is_valid_utf8(text);
}

TEST(TokenTrie, KnowsWhatStandsBelowEachNode) {
  const TokenTrie trie = trie_of(kTexts);
  for (size_t i = 0; i < trie.nodes().size(); ++i) {
    const TokenTrie::Node& node = trie.nodes()[i];
    const TokenTrie::Below& below = trie.below(i);
    size_t height = 0;
    bool ill_formed = false;
    bool beyond_ascii = false;
    std::string bytes;
    for (uint32_t t = node.first_token; t < trie.tokens_end(node); ++t) {
      const std::string_view rest = trie.tokens()[t].bytes.substr(node.depth + 1U);
      height = std::max(height, rest.size());
      ill_formed = ill_formed || !well_formed(rest);
      for (const char c : rest) beyond_ascii = beyond_ascii || static_cast<uint8_t>(c) >= 0x80;
      bytes += rest;
    }
    EXPECT_EQ(below.height, height) << "node " << i;
    EXPECT_EQ((below.kinds & kIllFormed) != 0, ill_formed) << "node " << i;
    if (ill_formed) continue;
    EXPECT_EQ((below.kinds & kCharacters) != 0, beyond_ascii) << "node " << i;
    for (const char c : {'\"', '\n', ' '})
      EXPECT_EQ(has_ascii(below.kinds, c), bytes.find(c) != std::string::npos) << "node " << i;
  }
}

TEST(TokenTrie, KindsOfAsciiLeaveOutForbiddenBytes) {
  ByteSet none;
  ByteSet quote;
  quote.set('"');
  EXPECT_NE(kinds_without(none), kinds_without(quote));
  EXPECT_EQ(kinds_without(ByteSet().set()), 0U);
}

}  // namespace
}  // namespace kvern::text::grammar
