#include "compute/kernels/rope.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "support/every_target.h"
#include "support/result_matchers.h"

namespace kvern::compute {
namespace {

using test::normal_floats;
using test::same_on_every_target;

RopeTable table_of(const RopeConfig& config) { return *RopeTable::create(config); }

TEST(RopeTable, PlainFrequenciesArePowersOfTheBase) {
  const RopeTable table = table_of({.rotary_dims = 64, .theta = 500000.0});
  for (size_t i = 0; i < 32; ++i) {
    const double want = std::pow(500000.0, -static_cast<double>(i) / 32.0);
    EXPECT_NEAR(table.inverse_frequencies()[i], want, 2e-7 * want);
  }
  EXPECT_EQ(table.attention_factor(), 1.0F);
}

TEST(RopeTable, LinearDividesEveryFrequency) {
  const RopeTable plain = table_of({.rotary_dims = 32});
  const RopeTable linear = table_of({.rotary_dims = 32, .scaling = RopeScaling::kLinear, .factor = 4.0});
  for (size_t i = 0; i < 16; ++i)
    EXPECT_EQ(linear.inverse_frequencies()[i], plain.inverse_frequencies()[i] / 4.0F);
}

TEST(RopeTable, DynamicIsPlainUpToTheOriginalContextAndStretchesTheBaseBeyond) {
  RopeConfig config{
      .rotary_dims = 32, .scaling = RopeScaling::kDynamicNtk, .factor = 2.0, .original_context = 1024};
  const RopeTable plain = table_of({.rotary_dims = 32});
  config.context = 1024;
  EXPECT_EQ(table_of(config).inverse_frequencies()[15], plain.inverse_frequencies()[15]);
  config.context = 4096;
  const double base = 10000.0 * std::pow(2.0 * 4096 / 1024 - 1.0, 32.0 / 30.0);
  const double want = std::pow(base, -30.0 / 32.0);
  EXPECT_NEAR(table_of(config).inverse_frequencies()[15], want, 1e-6 * want);
}

TEST(RopeTable, Llama3KeepsShortWavesAndDividesLongOnes) {
  const RopeConfig config{.rotary_dims = 64,
                          .theta = 500000.0,
                          .scaling = RopeScaling::kLlama3,
                          .factor = 32.0,
                          .original_context = 8192,
                          .low_freq_factor = 1.0,
                          .high_freq_factor = 4.0};
  const RopeTable plain = table_of({.rotary_dims = 64, .theta = 500000.0});
  const RopeTable scaled = table_of(config);
  int kept = 0;
  int divided = 0;
  for (size_t i = 0; i < 32; ++i) {
    const double f = plain.inverse_frequencies()[i];
    const double wave = 2.0 * std::numbers::pi / f;
    double want = f;
    if (wave > 8192.0) {
      want = f / 32.0;
      ++divided;
    } else if (wave > 2048.0) {
      const double smooth = (8192.0 / wave - 1.0) / 3.0;
      want = (1.0 - smooth) * f / 32.0 + smooth * f;
    } else {
      ++kept;
    }
    EXPECT_NEAR(scaled.inverse_frequencies()[i], want, 3e-7 * want) << i;
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(divided, 0);
}

TEST(RopeTable, YarnInterpolatesBetweenItsCorrectionDimensions) {
  const RopeConfig config{.rotary_dims = 128,
                          .theta = 10000.0,
                          .scaling = RopeScaling::kYarn,
                          .factor = 16.0,
                          .original_context = 4096};
  const RopeTable plain = table_of({.rotary_dims = 128});
  const RopeTable scaled = table_of(config);
  // By hand: 128 ln(4096 / (32 * 2 pi)) / (2 ln 10000) = 20.94, and with 1 instead of 32: 45.03.
  for (size_t i = 0; i < 64; ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - 20.0) / 26.0, 0.0, 1.0);
    const double f = plain.inverse_frequencies()[i];
    EXPECT_NEAR(scaled.inverse_frequencies()[i], f / 16.0 * ramp + f * (1.0 - ramp), 4e-7 * f) << i;
  }
  EXPECT_NEAR(scaled.attention_factor(), 0.1 * std::log(16.0) + 1.0, 1e-6);
}

TEST(RopeTable, YarnTakesItsAttentionFactorFromTheConfiguration) {
  RopeConfig config{.rotary_dims = 64,
                    .scaling = RopeScaling::kYarn,
                    .factor = 40.0,
                    .original_context = 4096,
                    .mscale = 1.0,
                    .mscale_all_dim = 1.0};
  EXPECT_EQ(table_of(config).attention_factor(), 1.0F);
  config.mscale_all_dim = 0.5;
  EXPECT_NEAR(table_of(config).attention_factor(),
              (0.1 * std::log(40.0) + 1.0) / (0.05 * std::log(40.0) + 1.0), 1e-6);
  config.attention_factor = 0.7;
  EXPECT_EQ(table_of(config).attention_factor(), 0.7F);
}

TEST(RopeTable, LongRopeChoosesItsFactorsByTheContext) {
  RopeConfig config{.rotary_dims = 4,
                    .scaling = RopeScaling::kLongRope,
                    .factor = 32.0,
                    .original_context = 4096,
                    .context = 4096,
                    .short_factors = {1.0F, 2.0F},
                    .long_factors = {3.0F, 4.0F}};
  EXPECT_FLOAT_EQ(table_of(config).inverse_frequencies()[1], 0.01F / 2.0F);
  config.context = 4097;
  EXPECT_FLOAT_EQ(table_of(config).inverse_frequencies()[0], 1.0F / 3.0F);
  EXPECT_FLOAT_EQ(table_of(config).inverse_frequencies()[1], 0.01F / 4.0F);
  EXPECT_NEAR(table_of(config).attention_factor(), std::sqrt(1.0 + std::log(32.0) / std::log(4096.0)), 1e-6);
}

TEST(RopeTable, FrequencyFactorsDivide) {
  const RopeTable table = table_of({.rotary_dims = 4, .freq_factors = {1.0F, 8.0F}});
  EXPECT_FLOAT_EQ(table.inverse_frequencies()[1], 0.01F / 8.0F);
}

TEST(RopeTable, RefusesWhatCannotBeMeant) {
  EXPECT_ERROR(RopeTable::create({.rotary_dims = 0}), kInvalidArgument, "even and positive");
  EXPECT_ERROR(RopeTable::create({.rotary_dims = 3}), kInvalidArgument, "even and positive");
  EXPECT_ERROR(RopeTable::create({.rotary_dims = 4, .theta = 0.0}), kInvalidArgument, "base");
  EXPECT_ERROR(RopeTable::create({.rotary_dims = 4, .theta = std::nan("")}), kInvalidArgument, "base");
  EXPECT_ERROR(RopeTable::create({.rotary_dims = 4, .scaling = RopeScaling::kLinear, .factor = 0.0}),
               kInvalidArgument, "linear");
  EXPECT_ERROR(RopeTable::create({.rotary_dims = 4, .scaling = RopeScaling::kYarn, .factor = 2.0}),
               kInvalidArgument, "yarn");
  EXPECT_ERROR(RopeTable::create({.rotary_dims = 4,
                                  .scaling = RopeScaling::kLlama3,
                                  .original_context = 100,
                                  .low_freq_factor = 4.0,
                                  .high_freq_factor = 4.0}),
               kInvalidArgument, "llama3");
  EXPECT_ERROR(RopeTable::create({.rotary_dims = 4,
                                  .scaling = RopeScaling::kLongRope,
                                  .original_context = 100,
                                  .short_factors = {1.0F}}),
               kInvalidArgument, "longrope");
  EXPECT_ERROR(RopeTable::create({.rotary_dims = 4, .freq_factors = {1.0F}}), kInvalidArgument, "as many");
  EXPECT_ERROR(RopeTable::create({.rotary_dims = 4, .freq_factors = {1.0F, 0.0F}}), kInvalidArgument,
               "positive");
}

TEST(RopeAngles, AreTheRoundedAngleExactlyEvenFarOut) {
  const RopeTable table = table_of({.rotary_dims = 8, .theta = 500000.0});
  RopeAngles angles;
  const int64_t positions[] = {0, 1, 131071, 1 << 24};
  angles.prepare(table, positions);
  for (int64_t t = 0; t < 4; ++t) {
    for (int64_t i = 0; i < 4; ++i) {
      const float angle =
          static_cast<float>(positions[t]) * table.inverse_frequencies()[static_cast<size_t>(i)];
      EXPECT_EQ(angles.cosines(t)[i], static_cast<float>(std::cos(static_cast<double>(angle))));
      EXPECT_EQ(angles.sines(t)[i], static_cast<float>(std::sin(static_cast<double>(angle))));
    }
  }
}

// Every pairing, partial rotation, odd sizes and strides, against the rotation in double precision.
TEST(Rope, RotatesPairsAndNothingElse) {
  for (const RopePairing pairing : {RopePairing::kHalfSplit, RopePairing::kInterleaved}) {
    for (const auto& [head_dim, rotary] :
         {std::pair<int64_t, int64_t>{64, 64}, {64, 32}, {20, 14}, {6, 2}, {128, 128}}) {
      SCOPED_TRACE(testing::Message() << head_dim << " " << rotary);
      const RopeTable table = table_of({.pairing = pairing, .rotary_dims = rotary});
      const int64_t positions[] = {5, 0, 1000, 6, 77};
      RopeAngles angles;
      angles.prepare(table, positions);
      const int64_t stride = 3 * head_dim + 4;
      const auto x = normal_floats(5 * stride);
      const auto out = same_on_every_target([&](Context& context) {
        auto result = x;
        rope(context, angles, {.x = result.data(), .heads = 3, .head_dim = head_dim, .stride = stride});
        return result;
      });
      std::vector<double> want(x.begin(), x.end());
      for (int64_t t = 0; t < 5; ++t) {
        for (int64_t head = 0; head < 3; ++head) {
          for (int64_t i = 0; i < rotary / 2; ++i) {
            const int64_t start = t * stride + head * head_dim;
            const auto a = static_cast<size_t>(start + (pairing == RopePairing::kHalfSplit ? i : 2 * i));
            const size_t b = a + static_cast<size_t>(pairing == RopePairing::kHalfSplit ? rotary / 2 : 1);
            const double angle =
                static_cast<float>(positions[t]) * table.inverse_frequencies()[static_cast<size_t>(i)];
            want[a] = x[a] * std::cos(angle) - x[b] * std::sin(angle);
            want[b] = x[b] * std::cos(angle) + x[a] * std::sin(angle);
          }
        }
      }
      for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(out[i], want[i], 1e-6) << i;
      EXPECT_EQ(out.back(), x.back()) << "between tokens";
    }
  }
}

}  // namespace
}  // namespace kvern::compute
