#include "text/vocabulary.h"

#include <gtest/gtest.h>

#include "text/trie.h"

namespace kvern::text {
namespace {

TEST(Vocabulary, FindsIdsByTextAndTextsById) {
  Vocabulary vocabulary;
  EXPECT_FALSE(vocabulary.find("a"));
  EXPECT_TRUE(vocabulary.add("a", 0));
  EXPECT_TRUE(vocabulary.add("", 1));
  EXPECT_TRUE(vocabulary.add(std::string_view("\0x", 2), 2));
  EXPECT_EQ(vocabulary.find("a"), 0);
  EXPECT_EQ(vocabulary.find(""), 1);
  EXPECT_EQ(vocabulary.find(std::string_view("\0x", 2)), 2);
  EXPECT_FALSE(vocabulary.find("b"));
  EXPECT_EQ(vocabulary.text_of(0), "a");
  EXPECT_EQ(vocabulary.size(), 3u);
}

TEST(Vocabulary, HasNothingAtGapsAndOutside) {
  Vocabulary vocabulary;
  vocabulary.add("a", 5);
  EXPECT_EQ(vocabulary.size(), 6u);
  EXPECT_EQ(vocabulary.count(), 1u);
  for (const TokenId id : {-1, 0, 4, 6}) {
    EXPECT_FALSE(vocabulary.has(id));
    EXPECT_EQ(vocabulary.text_of(id), "");
  }
}

TEST(Vocabulary, GivesTheFirstIdOfARepeatedTextAndRefusesARepeatedId) {
  Vocabulary vocabulary;
  EXPECT_TRUE(vocabulary.add("a", 3));
  EXPECT_TRUE(vocabulary.add("a", 1));
  EXPECT_EQ(vocabulary.find("a"), 3);
  EXPECT_EQ(vocabulary.text_of(1), "a");
  EXPECT_FALSE(vocabulary.add("b", 3));
  EXPECT_FALSE(vocabulary.find("b"));
}

TEST(Vocabulary, KeepsManyTokensThroughGrowth) {
  Vocabulary vocabulary;
  for (TokenId id = 0; id < 20000; ++id) vocabulary.add("token" + std::to_string(id), id);
  for (TokenId id = 0; id < 20000; ++id) ASSERT_EQ(vocabulary.find("token" + std::to_string(id)), id);
}

TEST(Trie, FindsEveryStoredPrefixShortestFirst) {
  Trie trie;
  trie.insert("a", 1);
  trie.insert("abc", 2);
  trie.insert("abcd", 3);
  trie.insert("", 4);
  std::vector<size_t> lengths;
  trie.for_each_prefix("xabcab", 1, [&](Trie::Match match) { lengths.push_back(match.length); });
  EXPECT_EQ(lengths, (std::vector<size_t>{1, 3}));
  EXPECT_EQ(trie.longest("abcdabcd", 0)->value, 3);
  EXPECT_FALSE(trie.longest("b", 0));
  EXPECT_FALSE(trie.longest("a", 1));
}

TEST(Trie, AgreesWithALinearSearchOnManyStrings) {
  Trie trie;
  std::vector<std::string> strings;
  uint32_t state = 7;
  for (int32_t i = 0; i < 3000; ++i) {
    std::string text;
    for (uint32_t length = 1 + i % 5; length-- > 0;) {
      state = state * 1664525 + 1013904223;
      text += static_cast<char>('a' + (state >> 24) % 4);
    }
    trie.insert(text, i);
    strings.push_back(text);
  }
  const std::string text = "abcdabbaccddabcabcd";
  for (size_t at = 0; at < text.size(); ++at) {
    size_t best = 0;
    for (const std::string& s : strings)
      if (text.substr(at).starts_with(s)) best = std::max(best, s.size());
    const auto found = trie.longest(text, at);
    EXPECT_EQ(found ? found->length : 0, best) << at;
    if (!found) continue;
    EXPECT_EQ(strings[static_cast<size_t>(found->value)], text.substr(at, best));
  }
}

}  // namespace
}  // namespace kvern::text
