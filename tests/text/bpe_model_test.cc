#include "text/bpe_model.h"

#include <chrono>
#include <random>

#include <gmock/gmock.h>

#include "text/score_merges.h"

namespace kvern::text {
namespace {

using testing::ElementsAre;

struct Small {
  Vocabulary vocabulary;
  MergeTable merges;

  TokenId id(std::string_view text) const { return vocabulary.find(text).value(); }
  void merge(std::string_view left, std::string_view right, uint32_t rank) {
    merges.set(id(left), id(right), {.rank = rank, .result = id(std::string(left) + std::string(right))});
  }
};

Small small(std::initializer_list<std::string_view> tokens) {
  Small out;
  for (const std::string_view token : tokens)
    out.vocabulary.add(token, static_cast<TokenId>(out.vocabulary.size()));
  return out;
}

std::vector<TokenId> encode(const Small& s, BpeOptions options, std::string_view piece) {
  std::vector<TokenId> out;
  BpeModel(s.vocabulary, s.merges, std::move(options)).encode(piece, out);
  return out;
}

TEST(Bpe, MergesTheLowestRankFirstAndTheLeftmostOfEquals) {
  Small s = small({"a", "b", "c", "ab", "bc", "aa"});
  s.merge("b", "c", 0);
  s.merge("a", "b", 1);
  s.merge("a", "a", 2);
  EXPECT_THAT(encode(s, {}, "abc"), ElementsAre(s.id("a"), s.id("bc")));
  EXPECT_THAT(encode(s, {}, "ab"), ElementsAre(s.id("ab")));
  EXPECT_THAT(encode(s, {}, "aaa"), ElementsAre(s.id("aa"), s.id("a")));
}

TEST(Bpe, LeavesOutUnknownCharactersWithoutAnUnk) {
  EXPECT_THAT(encode(small({"a"}), {}, "axa"), ElementsAre(0, 0));
  EXPECT_THAT(encode(small({"a"}), {}, "x"), ElementsAre());
}

TEST(Bpe, MakesOneUnkForEachOrForARun) {
  const Small s = small({"u", "a"});
  EXPECT_THAT(encode(s, {.unk = 0}, "xyaz"), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(encode(s, {.unk = 0, .fuse_unk = true}, "xyaz"), ElementsAre(0, 1, 0));
}

TEST(Bpe, FallsBackToBytesWhereAllOfACharactersExist) {
  const Small s = small({"u", "a", "<0xC3>", "<0xA9>"});
  EXPECT_THAT(encode(s, {.unk = 0, .byte_fallback = true}, "aé"), ElementsAre(1, 2, 3));
  EXPECT_THAT(encode(s, {.unk = 0, .byte_fallback = true}, "aü"), ElementsAre(1, 0));
}

TEST(Bpe, TakesWholePiecesThatAreTokensWhenMergesAreIgnored) {
  const Small s = small({"a", "b", "ab"});
  EXPECT_THAT(encode(s, {}, "ab"), ElementsAre(0, 1));
  EXPECT_THAT(encode(s, {.ignore_merges = true}, "ab"), ElementsAre(2));
}

TEST(Bpe, NeverMakesExcludedTokens) {
  const Small s = small({"a", "b", "ab"});
  EXPECT_THAT(encode(s, {.ignore_merges = true, .never_from_text = {false, true, true}}, "ab"),
              ElementsAre(0));
}

TEST(Bpe, AddsPrefixAndSuffixToCharacters) {
  const Small s = small({"a", "##b", "##c</w>", "a</w>"});
  const BpeOptions options{.subword_prefix = "##", .end_of_word_suffix = "</w>"};
  EXPECT_THAT(encode(s, options, "abc"), ElementsAre(0, 1, 2));
  EXPECT_THAT(encode(s, options, "a"), ElementsAre(3));
}

TEST(Bpe, EndsWhenMergesMakeWhatTheyAreMadeOf) {
  // A cycle that no trainer makes: merging "a" and "b" gives "a" again.
  Small s = small({"a", "b"});
  s.merges.set(0, 1, {.rank = 0, .result = 0});
  EXPECT_THAT(encode(s, {}, "abbbb"), ElementsAre(0));
}

TEST(Bpe, TheLastOfEqualMergesCounts) {
  Small s = small({"a", "b", "ab", "bb"});
  s.merge("a", "b", 0);
  s.merge("b", "b", 1);
  s.merge("a", "b", 2);
  EXPECT_EQ(s.merges.size(), 2u);
  EXPECT_THAT(encode(s, {}, "abb"), ElementsAre(0, 3));
}

/// The obvious way: find the best pair, merge it, again.
std::vector<TokenId> encode_slowly(const Small& s, std::string_view piece) {
  std::vector<TokenId> ids;
  for (const char c : piece) ids.push_back(s.id(std::string_view(&c, 1)));
  while (true) {
    size_t best = ids.size();
    const MergeTable::Merge* chosen = nullptr;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto* merge = s.merges.find(ids[i], ids[i + 1]);
      if (merge != nullptr && (chosen == nullptr || merge->rank < chosen->rank)) {
        chosen = merge;
        best = i;
      }
    }
    if (chosen == nullptr) return ids;
    ids[best] = chosen->result;
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
}

TEST(Bpe, AgreesWithRepeatedSearchOnRandomMerges) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    Small s = small({"a", "b", "c"});
    for (uint32_t rank = 0; rank < 30; ++rank) {
      const auto size = static_cast<uint32_t>(s.vocabulary.size());
      const auto left = static_cast<TokenId>(random() % size);
      const auto right = static_cast<TokenId>(random() % size);
      const std::string text =
          std::string(s.vocabulary.text_of(left)) + std::string(s.vocabulary.text_of(right));
      // One way to make each token: with several, the reference lets an outdated candidate count.
      if (s.vocabulary.find(text)) continue;
      s.vocabulary.add(text, static_cast<TokenId>(size));
      s.merge(s.vocabulary.text_of(left), s.vocabulary.text_of(right), rank);
    }
    std::string piece;
    for (int i = 0; i < 60; ++i) piece += static_cast<char>('a' + random() % 3);
    ASSERT_EQ(encode(s, {}, piece), encode_slowly(s, piece)) << piece;
  }
}

TEST(ScoreMerges, RanksByScoreAndKeepsCharactersThatAreNoTokens) {
  Small s = small({"ab", "b", "abc", "x"});
  ScoreMerges merges = merges_from_scores(s.vocabulary, {-1, -2, -0.5, 0}, std::vector<bool>(4));
  EXPECT_EQ(merges.partial.count(), 2u);  // "a" and "c".
  const BpeModel model(s.vocabulary, std::move(merges.table), {.unk = 3, .byte_fallback = true},
                       std::move(merges.partial));
  std::vector<TokenId> out;
  model.encode("abcaab", out);
  EXPECT_THAT(out, ElementsAre(2, 3, 0));
}

TEST(ScoreMerges, SkipsExcludedTokens) {
  Small s = small({"a", "b", "ab"});
  EXPECT_EQ(merges_from_scores(s.vocabulary, {0, 0, 0}, {false, false, true}).table.size(), 0u);
  EXPECT_EQ(merges_from_scores(s.vocabulary, {0, 0, 0}, {false, false, false}).table.size(), 1u);
}

}  // namespace
}  // namespace kvern::text
