// matmul against the double-precision reference, on every target.
#include "compute/kernels/matmul.h"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/random_weights.h"
#include "support/reference/matmul_reference.h"

namespace kvern::compute {
namespace {

using kvern::testing::kAllDTypes;
using kvern::testing::OwnedMatrix;
using kvern::testing::random_activations;
using kvern::testing::random_matrix;

struct Shape {
  int64_t rows;
  int64_t cols;
  int64_t tokens;
};

/// [tokens, rows], each row with three floats of poison behind it that the kernel must leave alone.
std::vector<float> multiply(Context& context, const WeightMatrix& w, const std::vector<float>& x,
                            int64_t tokens) {
  const int64_t stride = w.rows + 3;
  std::vector<float> out(static_cast<size_t>(tokens * stride), 12345.0f);
  const MatmulTask task{.weight = w, .out = out.data(), .out_stride = stride};
  matmul(context, {.x = x.data(), .tokens = tokens, .cols = w.cols, .stride = w.cols}, {&task, 1});
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t i = w.rows; i < stride; ++i) EXPECT_EQ(out[static_cast<size_t>(t * stride + i)], 12345.0f);
  }
  std::vector<float> dense;
  for (int64_t t = 0; t < tokens; ++t) {
    dense.insert(dense.end(), out.begin() + t * stride, out.begin() + t * stride + w.rows);
  }
  return dense;
}

std::vector<CpuTarget> supported_targets() {
  std::vector<CpuTarget> targets;
  for (const CpuTarget target : compiled_targets()) {
    if (is_supported(target)) targets.push_back(target);
  }
  return targets;
}

class Matmul : public ::testing::TestWithParam<DType> {};

TEST_P(Matmul, IsWithinRoundingOfTheDoubleReference) {
  const Shape shapes[] = {{1, 256, 1},  {17, 512, 1},   {33, 256, 5},
                          {40, 768, 7}, {16, 1024, 20}, {70, 256, 64}};
  for (const CpuTarget target : supported_targets()) {
    Context context(target, 2);
    for (const auto& [rows, cols, tokens] : shapes) {
      const OwnedMatrix w = random_matrix({.type = GetParam(), .rows = rows, .cols = cols});
      const auto x = random_activations(tokens * cols, 7);
      const auto out = multiply(context, w.view, x, tokens);
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

INSTANTIATE_TEST_SUITE_P(AllDTypes, Matmul, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& param_info) { return std::string(traits(param_info.param).name); });

}  // namespace
}  // namespace kvern::compute
