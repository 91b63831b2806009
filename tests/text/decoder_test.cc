#include "text/decoder.h"

#include <gtest/gtest.h>

namespace kvern::text {
namespace {

Decoder chain(std::vector<DecoderStep> steps) {
  Decoder decoder;
  for (DecoderStep& step : steps) decoder.add(std::move(step));
  return decoder;
}

/// The parts that come out, separated by '|'; the last is finish().
std::string parts(const Decoder& decoder, const std::vector<std::string>& tokens) {
  Decoder::State state = decoder.start();
  std::string out;
  for (const std::string& token : tokens) out += decoder.push(state, token) + "|";
  return out + decoder.finish(state);
}

Decoder llama() {
  return chain({DecodeReplace{Replacement{.pattern = {.literal = "\u2581", .regex = {}}, .content = " "}},
                DecodeByteFallback{}, DecodeFuse{}, DecodeStrip{.character = " ", .start = 1, .stop = 0}});
}

TEST(Decoder, TakesOneSpaceFromTheFrontOfTheText) {
  EXPECT_EQ(parts(llama(), {"\u2581Hello", "\u2581world"}), "Hello| world|");
  EXPECT_EQ(parts(llama(), {"\u2581", "\u2581", "a"}), "| |a|");
  EXPECT_EQ(parts(llama(), {"a", "\u2581b"}), "a| b|");
}

TEST(Decoder, HoldsByteTokensBackUntilTheyAreACharacter) {
  EXPECT_EQ(parts(llama(), {"<0xE2>", "<0x82>", "<0xAC>", "x"}), "||€|x|");
  EXPECT_EQ(parts(llama(), {"<0xE2>", "<0x82>", "x"}), "||\uFFFD\uFFFDx|");
  EXPECT_EQ(parts(llama(), {"<0xE2>", "<0x41>"}), "|\uFFFDA|");
  EXPECT_EQ(parts(llama(), {"<0xF0>", "<0x9F>"}), "||\uFFFD\uFFFD");
}

TEST(Decoder, ReadsByteLevelCharactersAcrossTokens) {
  const Decoder decoder = chain({DecodeByteLevel{}});
  EXPECT_EQ(parts(decoder, {"\u0120a", "\u00C3", "\u00A9"}), " a||é|");
  EXPECT_EQ(parts(decoder, {"\u00C3", "a", "\u00E2\u0124"}), "|\uFFFDa||\uFFFD");
  EXPECT_EQ(parts(decoder, {"漢字"}), "漢字|");
}

TEST(Decoder, StripsTheEndOnlyOnceItIsKnown) {
  const Decoder decoder = chain({DecodeFuse{}, DecodeStrip{.character = " ", .start = 0, .stop = 2}});
  EXPECT_EQ(parts(decoder, {"a ", " b", "   "}), "a|  b| |");
}

TEST(Decoder, StripsEachTokenBeforeFusing) {
  EXPECT_EQ(parts(chain({DecodeStrip{.character = "_", .start = 1, .stop = 1}}), {"__a_", "_"}), "_a||");
}

TEST(Decoder, MetaspaceDropsTheMarkOfTheFirstTokenOnly) {
  EXPECT_EQ(parts(chain({DecodeMetaspace{}}), {"\u2581a", "\u2581b"}), "a| b|");
  EXPECT_EQ(parts(chain({DecodeMetaspace{.keep_first = true}}), {"\u2581a", "\u2581b"}), " a| b|");
}

TEST(Decoder, WithoutADecoderTokensAreJoinedBySpaces) {
  EXPECT_EQ(parts(chain({DecodeJoinWithSpaces{}}), {"a", "b"}), "a| b|");
}

}  // namespace
}  // namespace kvern::text
