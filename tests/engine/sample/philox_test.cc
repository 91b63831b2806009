#include "engine/sample/philox.h"

#include <set>

#include <gtest/gtest.h>

namespace kvern::engine {
namespace {

using Words = std::array<uint32_t, 4>;

// The known answers that the authors publish with their library Random123 (kat_vectors, "philox4x32 10").
TEST(PhiloxTest, GivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  // Digits of pi.
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxTest, TheFirstDrawOfSeedZeroIsTheFirstPublishedAnswer) {
  const PositionDraw draw = draw_for_position(0, 0);
  EXPECT_EQ(draw.token, static_cast<double>(0xe169c58d6627e8d5 >> 11) * 0x1p-53);
  EXPECT_EQ(draw.xtc, static_cast<double>(0x9b00dbd8bc57ac4c >> 11) * 0x1p-53);
}

TEST(PhiloxTest, AllBitsOfSeedAndPositionCount) {
  std::set<double> draws;
  for (int bit = 0; bit < 64; ++bit) {
    draws.insert(draw_for_position(uint64_t{1} << bit, 0).token);
    draws.insert(draw_for_position(0, uint64_t{1} << bit).token);
  }
  EXPECT_EQ(draws.size(), 128U);
}

TEST(PhiloxTest, DrawsLieInTheUnitInterval) {
  for (uint64_t position = 0; position < 10000; ++position) {
    const PositionDraw draw = draw_for_position(5, position);
    ASSERT_GE(draw.token, 0);
    ASSERT_LT(draw.token, 1);
    ASSERT_GE(draw.xtc, 0);
    ASSERT_LT(draw.xtc, 1);
  }
}

TEST(PhiloxTest, ChildrenOfARequestHaveSeedsOfTheirOwnAndTheFirstKeepsTheRequests) {
  EXPECT_EQ(child_seed(7, 0), 7U);
  std::set<uint64_t> seeds;
  for (uint32_t child = 0; child < 100; ++child) {
    EXPECT_EQ(child_seed(7, child), child_seed(7, child));
    seeds.insert(child_seed(7, child));
    seeds.insert(child_seed(8, child));
  }
  EXPECT_EQ(seeds.size(), 200U);
}

}  // namespace
}  // namespace kvern::engine
