// One product with poison around the output, for tests.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "compute/kernels/matmul.h"

namespace kvern::testing {

inline std::vector<compute::CpuTarget> supported_targets() {
  std::vector<compute::CpuTarget> targets;
  for (const compute::CpuTarget target : compute::compiled_targets()) {
    if (compute::is_supported(target)) targets.push_back(target);
  }
  return targets;
}

/// [tokens, rows] of x [tokens, cols] times W^T. The floats behind each output row must stay as they were.
inline std::vector<float> multiply(compute::Context& context, const compute::WeightMatrix& w,
                                   const std::vector<float>& x) {
  constexpr int64_t kGap = 3;
  constexpr float kPoison = 12345.0f;
  const auto tokens = static_cast<int64_t>(x.size()) / w.cols;
  const int64_t stride = w.rows + kGap;
  std::vector<float> out(static_cast<size_t>(tokens * stride), kPoison);
  const compute::MatmulTask task{.weight = w, .out = out.data(), .out_stride = stride};
  compute::matmul(context, {.x = x.data(), .tokens = tokens, .cols = w.cols, .stride = w.cols}, {&task, 1});
  std::vector<float> dense;
  for (int64_t t = 0; t < tokens; ++t) {
    const auto row = out.begin() + t * stride;
    dense.insert(dense.end(), row, row + w.rows);
    EXPECT_EQ(std::count(row + w.rows, row + stride, kPoison), kGap) << "written beyond row " << t;
  }
  return dense;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace kvern::testing
