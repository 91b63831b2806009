#include "state/attend/tile_kernels.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "support/every_target.h"
#include "support/reference/lanes_reference.h"

namespace kvern::state {
namespace {

using test::normal_floats;
using test::supported_targets;

TEST(TileKernels, SoftmaxFollowsTheReferenceBitForBit) {
  for (const compute::CpuTarget target : supported_targets()) {
    SCOPED_TRACE(compute::to_string(target));
    for (int32_t count = 1; count <= kTile; ++count) {
      std::vector<float> scores = normal_floats(kTile, 30.0F, static_cast<unsigned>(count));
      const std::vector<float> before = scores;
      float max = 0.0F;
      float sum = 0.0F;
      tile_kernels(target).softmax({scores.data(), &count, 1, {.scale = 0.5F}, {&max, &sum}});
      float want_max = -INFINITY;
      for (int32_t i = 0; i < count; ++i)
        want_max = std::max(want_max, before[static_cast<size_t>(i)] * 0.5F);
      ASSERT_EQ(max, want_max);
      std::array<float, 16> lanes{};
      for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
        const float difference = before[i] * 0.5F - max;
        const float weight = reference::exp_weight(difference);
        ASSERT_EQ(scores[i], weight);
        ASSERT_NEAR(weight, std::exp(static_cast<double>(difference)), 2e-7 * weight + 2e-38);
        lanes[i % 16] += weight;
      }
      ASSERT_EQ(sum, reference::tree_sum(lanes));
    }
  }
}

TEST(TileKernels, JoinTouchesOnlyItsQueriesAndTakesTheFirstPartAsItIs) {
  for (const compute::CpuTarget target : supported_targets()) {
    for (int64_t queries = 1; queries <= 20; ++queries) {
      std::vector<float> max(21, -INFINITY);
      std::vector<float> sum(21, 0.0F);
      std::vector<float> keep(21, 7.0F);
      std::vector<float> gain(21, 7.0F);
      std::vector<float> next_max = normal_floats(21);
      std::vector<float> next_sum(21, 2.5F);
      tile_kernels(target).join({max.data(), sum.data()}, {next_max.data(), next_sum.data()}, queries,
                                {keep.data(), gain.data()});
      for (size_t q = 0; q < 21; ++q) {
        const bool inside = static_cast<int64_t>(q) < queries;
        EXPECT_EQ(max[q], inside ? next_max[q] : -INFINITY);
        EXPECT_EQ(sum[q], inside ? 2.5F : 0.0F);
        EXPECT_EQ(keep[q], inside ? 0.0F : 7.0F);
        EXPECT_EQ(gain[q], inside ? 1.0F : 7.0F);
      }
    }
  }
}

TEST(TileKernels, JoinWeighsTheSmallerMaximumDown) {
  for (const compute::CpuTarget target : supported_targets()) {
    float max = 1.0F;
    float sum = 2.0F;
    const float keep_want = reference::exp_weight(1.0F - 3.0F);
    float next_max = 3.0F;
    float next_sum = 5.0F;
    float keep = 0.0F;
    float gain = 0.0F;
    tile_kernels(target).join({&max, &sum}, {&next_max, &next_sum}, 1, {&keep, &gain});
    EXPECT_EQ(max, 3.0F);
    EXPECT_EQ(keep, keep_want);
    EXPECT_EQ(gain, 1.0F);
    EXPECT_EQ(sum, std::fmaf(5.0F, 1.0F, 2.0F * keep_want));
  }
}

}  // namespace
}  // namespace kvern::state
