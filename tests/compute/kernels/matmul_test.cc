// matmul against the double-precision reference, on every target.
#include "compute/kernels/matmul.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/matmul_call.h"
#include "support/random_weights.h"
#include "support/reference/matmul_reference.h"

namespace kvern::compute {
namespace {

using kvern::testing::kAllDTypes;
using kvern::testing::multiply;
using kvern::testing::OwnedMatrix;
using kvern::testing::random_activations;
using kvern::testing::random_matrix;
using kvern::testing::supported_targets;

struct Shape {
  int64_t rows;
  int64_t cols;
  int64_t tokens;
};

class Matmul : public ::testing::TestWithParam<DType> {};

TEST_P(Matmul, IsWithinRoundingOfTheDoubleReference) {
  const Shape shapes[] = {{1, 256, 1},  {17, 512, 1},   {33, 256, 5},
                          {40, 768, 7}, {16, 1024, 20}, {70, 256, 64}};
  for (const CpuTarget target : supported_targets()) {
    Context context(target, 2);
    for (const auto& [rows, cols, tokens] : shapes) {
      const OwnedMatrix w = random_matrix({.type = GetParam(), .rows = rows, .cols = cols});
      const auto x = random_activations(tokens * cols, 7);
      const auto out = multiply(context, w.view, x);
      for (int64_t t = 0; t < tokens; ++t) {
        for (int64_t r = 0; r < rows; ++r) {
          const auto want = kvern::testing::reference_dot(w.view, r, x.data() + t * cols);
          ASSERT_NEAR(out[static_cast<size_t>(t * rows + r)], want.value, want.bound)
              << to_string(target) << " rows " << rows << " cols " << cols << " token " << t << " row " << r;
        }
      }
    }
  }
}

// Quantizing the activations costs accuracy, but little: the error of a product with 8-bit weights stays near
// one part in two hundred of a typical output.
TEST(MatmulQuality, OfQuantizedActivationsIsAFractionOfAPercent) {
  constexpr int64_t kCols = 2048;
  constexpr int64_t kRows = 64;
  const OwnedMatrix w = random_matrix({.type = DType::kQ8_0, .rows = kRows, .cols = kCols});
  const auto x = random_activations(kCols, 21);
  Context context(supported_targets().back(), 1);
  const auto out = multiply(context, w.view, x);
  double error = 0.0;
  double size = 0.0;
  std::vector<float> row(kCols);
  for (int64_t r = 0; r < kRows; ++r) {
    decode_row(w.view, r, row.data());
    double exact = 0.0;
    for (size_t i = 0; i < kCols; ++i) exact += static_cast<double>(row[i]) * x[i];
    error += std::pow(out[static_cast<size_t>(r)] - exact, 2);
    size += exact * exact;
  }
  EXPECT_LT(std::sqrt(error / size), 0.02);
  EXPECT_GT(error, 0.0);
}

class MatmulEdges : public ::testing::TestWithParam<DType> {};

TEST_P(MatmulEdges, ZeroActivationsGiveZeroOutputs) {
  const OwnedMatrix w = random_matrix({.type = GetParam(), .rows = 20, .cols = 256});
  for (const CpuTarget target : supported_targets()) {
    Context context(target, 1);
    for (const size_t tokens : {1u, 7u}) {
      for (const float tiny : {0.0f, 0x1p-120f}) {
        const auto out = multiply(context, w.view, std::vector<float>(tokens * 256, tiny));
        for (const float value : out) EXPECT_LE(std::fabs(value), tiny * 1e6f);
      }
    }
  }
}

TEST_P(MatmulEdges, ActivationsThatAreNotFiniteGiveNoFiniteOutput) {
  const OwnedMatrix w = random_matrix({.type = GetParam(), .rows = 20, .cols = 256});
  for (const CpuTarget target : supported_targets()) {
    Context context(target, 1);
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      auto x = random_activations(3 * 256, 6);
      x[256 + 77] = bad;
      const auto out = multiply(context, w.view, x);
      for (size_t i = 0; i < out.size(); ++i) {
        // A weight of exactly zero times infinity is NaN; every output of the middle token meets the bad
        // value.
        EXPECT_EQ(std::isfinite(out[i]), i < 20 || i >= 40) << i;
      }
    }
  }
}

TEST_P(MatmulEdges, AWeightThatIsNotANumberSpoilsOnlyItsRow) {
  OwnedMatrix w = random_matrix({.type = GetParam(), .rows = 20, .cols = 256});
  kvern::testing::poison_row(w, 4);
  for (const CpuTarget target : supported_targets()) {
    Context context(target, 1);
    for (const int64_t tokens : {1, 7}) {
      const auto out = multiply(context, w.view, random_activations(tokens * 256, 6));
      for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::isnan(out[i]), i % 20 == 4) << i;
    }
  }
}

TEST_P(MatmulEdges, LargeNumbersStayWithinRounding) {
  const OwnedMatrix w = random_matrix({.type = GetParam(), .rows = 18, .cols = 256});
  auto x = random_activations(256, 6);
  for (float& v : x) v *= 0x1p60f;
  for (const CpuTarget target : supported_targets()) {
    Context context(target, 1);
    const auto out = multiply(context, w.view, x);
    for (int64_t r = 0; r < 18; ++r) {
      const auto want = kvern::testing::reference_dot(w.view, r, x.data());
      EXPECT_NEAR(out[static_cast<size_t>(r)], want.value, want.bound);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllDTypes, MatmulEdges, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& param_info) { return std::string(traits(param_info.param).name); });

INSTANTIATE_TEST_SUITE_P(AllDTypes, Matmul, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& param_info) { return std::string(traits(param_info.param).name); });

}  // namespace
}  // namespace kvern::compute
