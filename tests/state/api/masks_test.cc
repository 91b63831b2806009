// The public masks are those of state/attend/masks.h, whose tests say what they mean.
#include "kvern/masks.h"

#include <array>
#include <limits>

#include <gtest/gtest.h>

#include "state/attend/masks.h"
#include "support/result_matchers.h"

namespace kvern {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

void expect_same(const Result<AttentionMask>& mask, const state::AttentionMask& inner) {
  ASSERT_OK(mask);
  EXPECT_EQ(mask->rows, inner.rows);
  EXPECT_EQ(mask->queries, inner.queries);
  EXPECT_EQ(mask->keys, inner.keys);
  EXPECT_EQ(mask->allow, inner.allow);
}

TEST(PublicMasks, AreTheMasksOfTheStateLibrary) {
  expect_same(causal_mask({.queries = 3, .offset = 5, .window = 4}), state::causal_mask({3, 5, 4}));
  const std::array<bool, 4> flags = {false, true, true, false};
  expect_same(bidirectional_mask(flags, 2), state::bidirectional_mask(flags, 2));
  const std::array<PaddedMaskRow, 2> rows = {
      {{.pad = 3, .end = 9, .head_end = 5, .tail = 7}, {.pad = 0, .end = 6}}};
  const std::array<state::PaddedMaskRow, 2> inner = {{{3, 9, 5, 7}, {0, 6, 0, 0}}};
  expect_same(padded_mask(rows, 2, 4), state::padded_mask(inner, 2, 4));
  const std::array<int64_t, 3> lengths = {3, 0, 5};
  expect_same(right_padded_mask(lengths, 5), state::right_padded_mask(lengths, 5));
}

TEST(PublicMasks, OfARingFollowItRound) {
  const std::array<state::RotatingSource, 2> sources = {{{4, 4}, {2, 2}}};
  state::RotatingPositions ring = state::merge_rotating(6, sources);
  for (int step = 0; step < 20; ++step) {
    for (const int64_t queries : {1, 3}) {
      RotatingMaskShape shape{.capacity = 6,
                              .head = ring.head,
                              .written = ring.written,
                              .rotated = ring.rotated,
                              .pads = ring.pads,
                              .queries = queries,
                              .window = 6};
      expect_same(rotating_mask(shape), state::rotating_mask(ring, queries, 6));
      if (step != 0) continue;
      state::RotatingPositions padded = ring;
      state::expect_right_padding(padded, std::array<int64_t, 2>{1, 1});
      shape.right_padding = true;
      expect_same(rotating_mask(shape), state::rotating_mask(padded, queries, 6));
    }
    state::rotating_append(ring, step % 5 == 4 ? 3 : 1);
  }
}

TEST(PublicMasks, SayWhatCannotBe) {
  EXPECT_ERROR(causal_mask({.queries = -1}), kInvalidArgument, "-1");
  EXPECT_ERROR(causal_mask({.queries = 1, .offset = kHuge}), kInvalidArgument, "no number of positions");
  EXPECT_ERROR(causal_mask({.queries = 1 << 20, .offset = 1 << 20}), kInvalidArgument, "2^32");
  EXPECT_ERROR(padded_mask(std::array<PaddedMaskRow, 1>{{{.pad = -3}}}, 1, 0), kInvalidArgument, "-3");
  EXPECT_ERROR(padded_mask({}, 1, -1), kInvalidArgument, "-1");
  EXPECT_ERROR(right_padded_mask(std::array<int64_t, 1>{-2}, 1), kInvalidArgument, "-2");
  EXPECT_ERROR(right_padded_mask(std::array<int64_t, 2>{1, 1}, 1 << 16), kInvalidArgument, "2^32");
  EXPECT_ERROR(rotating_mask({.capacity = 0}), kInvalidArgument, "at least one column");
  EXPECT_ERROR(rotating_mask({.capacity = 4, .head = kHuge}), kInvalidArgument, "no number");
  EXPECT_ERROR(rotating_mask({.capacity = 4, .pads = {kHuge}}), kInvalidArgument, "no number");
  EXPECT_OK(padded_mask({}, 1, 0));
}

}  // namespace
}  // namespace kvern
