// TurboQuant's constants against their sources: the published bytes, the counter generator, and the equations
// that a Lloyd-Max quantizer of the unit normal law satisfies. Its arithmetic is in codec_test.cc.
#include "state/codec/turbo/turbo.h"

#include <numbers>

#include "state/codec/registry.h"
#include "state/codec/stored_vectors.h"
#include "state/codec/turbo/signs.h"
#include "state/codec/turbo/tables.h"
#include "support/reference/codec_tables.h"

namespace kvern::state {
namespace {

std::string sign_text(int64_t dim) {
  std::string text;
  for (int64_t i = 0; i < dim; ++i)
    text += (turbo::signs(dim)[static_cast<size_t>(i / 32)] >> i % 32 & 1) != 0 ? '+' : '-';
  return text;
}
std::string sign_bytes(int64_t dim) {
  std::string text;
  for (const uint32_t word : turbo::signs(dim)) {
    for (int b = 0; b < 32; b += 8) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      text += kDigits[word >> (b + 4) & 15];
      text += kDigits[word >> b & 15];
    }
  }
  return text;
}

TEST(TurboQuant, HasThePublishedSigns) {
  EXPECT_EQ(sign_bytes(64), "71ab9648fdb7219d");
  EXPECT_EQ(sign_bytes(128), "f220c695affd63952ac87cb521a69feb");
  struct Published {
    int64_t dim;
    std::string_view first;
    int64_t plus;
  };
  constexpr Published kPublished[] = {{64, "+---+++-++-+-+-+", 35},
                                      {128, "-+--++++-----+--", 69},
                                      {256, "+-++-+++++++--++", 124},
                                      {512, "-+----+---+-++-+", 262}};
  for (const auto& [dim, first, plus] : kPublished) {
    const std::string text = sign_text(dim);
    EXPECT_EQ(text.substr(0, 16), first);
    EXPECT_EQ(std::ranges::count(text, '+'), plus);
    const std::vector<float> generated = reference::turbo_signs(dim);
    for (int64_t i = 0; i < dim; ++i) {
      ASSERT_EQ(text[static_cast<size_t>(i)] == '+', generated[static_cast<size_t>(i)] > 0.0F)
          << dim << " " << i;
    }
  }
  EXPECT_TRUE(turbo::signs(96).empty());
}

double density(double x) {
  return std::isinf(x) ? 0.0 : std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
}
double below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

/// Each centroid is the mean of its cell, each boundary the middle of its neighbours: solved by iteration.
std::vector<double> solve_lloyd_max(size_t count) {
  std::vector<double> c(count);
  for (size_t i = 0; i < count; ++i)
    c[i] = 6.0 * (static_cast<double>(i) + 0.5) / static_cast<double>(count) - 3.0;
  for (int round = 0; round < 20000; ++round) {
    double low = -std::numeric_limits<double>::infinity();
    std::vector<double> next(count);
    for (size_t i = 0; i < count; ++i) {
      const double high = i + 1 < count ? 0.5 * (c[i] + c[i + 1]) : std::numeric_limits<double>::infinity();
      next[i] = (density(low) - density(high)) / (below(high) - below(low));
      low = high;
    }
    c.swap(next);
  }
  return c;
}

/// The mean square error of the table for the unit normal law, by summing over a fine grid.
template <int kBits>
double table_error() {
  const auto& table = turbo::kTable<kBits>;
  constexpr double kStep = 1e-4;
  double error = 0.0;
  for (double x = -9.0; x < 9.0; x += kStep) {
    const auto code =
        std::ranges::lower_bound(table.boundaries, static_cast<float>(x)) - table.boundaries.begin();
    error +=
        std::pow(x - static_cast<double>(table.centroids[static_cast<size_t>(code)]), 2) * density(x) * kStep;
  }
  return error;
}

TEST(TurboQuant, HasTheErrorOfThePublishedTables) {
  EXPECT_NEAR(table_error<2>(), 0.11748, 1e-5);
  EXPECT_NEAR(table_error<3>(), 0.03455, 1e-5);
  EXPECT_NEAR(table_error<4>(), 0.00950, 1e-5);
  EXPECT_NEAR(table_error<5>(), 0.00250, 1e-5);
  EXPECT_NEAR(table_error<8>(), 1.0e-4, 0.1e-4);
}

template <int kBits>
void check_table() {
  const auto& table = turbo::kTable<kBits>;
  const std::vector<double> solved = solve_lloyd_max(table.centroids.size());
  for (size_t i = 0; i < solved.size(); ++i)
    EXPECT_NEAR(table.centroids[i], solved[i], 1.1e-5) << kBits << " bits, " << i;
  for (size_t i = 0; i + 1 < solved.size(); ++i) {
    EXPECT_NEAR(table.boundaries[i], 0.5 * (solved[i] + solved[i + 1]), 1.1e-5) << kBits << " bits, " << i;
  }
}

TEST(TurboQuant, RoundsValuesWithTheLloydMaxQuantizerOfTheNormalLaw) {
  check_table<2>();
  check_table<3>();
  check_table<4>();
  check_table<5>();
}

TEST(TurboQuant, HasThePublishedTableOfEightBits) {
  const auto& table = turbo::kTable<8>;
  EXPECT_EQ(table.centroids.front(), -4.5057F);
  EXPECT_EQ(table.centroids[130], 0.0043F);
  EXPECT_EQ(table.centroids.back(), 4.3419F);
  const reference::LloydMax& published = reference::lloyd_max(8);
  for (size_t i = 0; i < 255; ++i) {
    EXPECT_LT(table.centroids[i], table.boundaries[i]);
    EXPECT_LT(table.boundaries[i], table.centroids[i + 1]);
    EXPECT_EQ(table.boundaries[i], published.boundaries[i]);
  }
}

size_t bytes(const Codec& codec, int64_t dim) {
  size_t sum = 0;
  for (int p = 0; p < codec.planes; ++p) sum += codec.record_bytes(codec, p, dim);
  return sum;
}

TEST(TurboQuant, TakesThePublishedBytes) {
  const Codec& keys = *find_codec(CodecKind::kTurboKey, 8, 32);
  const Codec& values = *find_codec(CodecKind::kTurboValue, 3, 32);
  EXPECT_EQ(bytes(keys, 128), 128U + 8U + 8U);
  EXPECT_EQ(bytes(values, 128), 48U + 8U);
  EXPECT_EQ(bytes(keys, 128) + bytes(values, 128), 200U);
}

TEST(TurboQuant, KeepsGroupsOfOneNumberFinite) {
  for (const Codec& codec : turbo_key_codecs()) {
    for (const float constant : {3.25F, -0.001F, 100.0F, 1e-6F, 0.0F, -60000.0F}) {
      for (const float spread : {0.0F, 1e-7F}) {
        std::vector<float> x(64, constant);
        for (size_t i = 0; i < x.size(); i += 2) x[i] += constant * spread;
        for (const compute::CpuTarget target : test::supported_targets()) {
          const Stored stored(codec, 1, 64);
          codec.kernels(target).encode({x.data(), 64, codec.shape(64)}, stored.run);
          std::vector<float> decoded(64);
          codec.kernels(target).decode(codec.shape(64), stored.run, decoded.data());
          for (const float number : decoded) {
            EXPECT_NEAR(number, constant, std::abs(constant) * 0x1p-11F + 0x1p-24F) << codec.name;
          }
        }
      }
    }
  }
}

TEST(TurboQuant, IsRefusedForOtherHeadSizes) {
  for (const Codec& codec : turbo_value_codecs()) {
    for (const int64_t dim : {8, 32, 80, 96, 192, 1024}) EXPECT_FALSE(codec.takes(codec, dim));
    for (const int64_t dim : {64, 128, 256, 512}) EXPECT_TRUE(codec.takes(codec, dim));
  }
}

}  // namespace
}  // namespace kvern::state
