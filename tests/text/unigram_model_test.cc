#include "text/unigram_model.h"

#include <gmock/gmock.h>

namespace kvern::text {
namespace {

using testing::ElementsAre;

Vocabulary vocabulary_of(std::initializer_list<std::string_view> tokens) {
  Vocabulary vocabulary;
  for (const std::string_view token : tokens) vocabulary.add(token, static_cast<TokenId>(vocabulary.size()));
  return vocabulary;
}

std::vector<TokenId> encode(const UnigramModel& model, std::string_view piece) {
  std::vector<TokenId> out;
  model.encode(piece, out);
  return out;
}

TEST(Unigram, TakesTheMostProbableWay) {
  const Vocabulary vocabulary = vocabulary_of({"<unk>", "a", "b", "ab", "abc", "bc"});
  const UnigramModel model(vocabulary, {0, -1, -1, -1.5, -9, -1}, {.unk = 0, .never_from_text = {true}});
  EXPECT_THAT(encode(model, "ab"), ElementsAre(3));
  EXPECT_THAT(encode(model, "abc"), ElementsAre(1, 5));
}

TEST(Unigram, ARunOfUnknownCharactersIsOneUnk) {
  const Vocabulary vocabulary = vocabulary_of({"<unk>", "a"});
  const UnigramModel model(vocabulary, {0, -1}, {.unk = 0, .never_from_text = {true}});
  EXPECT_THAT(encode(model, "xyaz漢"), ElementsAre(0, 1, 0));
}

TEST(Unigram, WithoutUnkUnknownCharactersAreLeftOut) {
  const Vocabulary vocabulary = vocabulary_of({"a"});
  EXPECT_THAT(encode(UnigramModel(vocabulary, {-1}, {}), "xaxx"), ElementsAre(0));
}

TEST(Unigram, FallsBackToBytesOnlyWhenAllExist) {
  Vocabulary vocabulary = vocabulary_of({"<unk>", "a", "<0xC3>", "<0xA9>"});
  const UnigramModel some(vocabulary, {0, -1, 0, 0},
                          {.unk = 0, .byte_fallback = true, .never_from_text = {true}});
  EXPECT_FALSE(some.takes_escaped_bytes());
  EXPECT_THAT(encode(some, "é"), ElementsAre(0));
}

TEST(Unigram, PrefersAKnownTokenToUnknownOnesHoweverRare) {
  const Vocabulary vocabulary = vocabulary_of({"<unk>", "xy", "a"});
  const UnigramModel model(vocabulary, {0, -50, -1}, {.unk = 0, .never_from_text = {true}});
  EXPECT_THAT(encode(model, "axy"), ElementsAre(2, 1));
}

}  // namespace
}  // namespace kvern::text
