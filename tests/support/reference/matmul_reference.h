// The matrix product, slow and obvious: one double-precision sum for each output element.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "compute/kernels/matmul.h"
#include "compute/kernels/weights/formats.h"

namespace kvern::testing {

/// A sum and how far a correct f32 kernel may be from it.
struct BoundedSum {
  double value = 0.0;
  double bound = 0.0;
};

/// The activations that a block-quantized product really multiplies: for each 32 columns, the nearest
/// multiples of d = largest / 127. [cols]
inline std::vector<double> quantized_activations(const float* x, int64_t cols) {
  std::vector<double> result(static_cast<size_t>(cols));
  for (int64_t begin = 0; begin < cols; begin += 32) {
    float largest = 0.0f;
    for (int64_t i = begin; i < begin + 32; ++i) largest = std::fmax(largest, std::fabs(x[i]));
    if (largest < 0x1p-100f) continue;
    const float d = largest / 127.0f;
    const float inverse = 127.0f / largest;
    for (int64_t i = begin; i < begin + 32; ++i) {
      result[static_cast<size_t>(i)] = static_cast<double>(d) * std::nearbyint(x[i] * inverse);
    }
  }
  return result;
}

/// Output element (row, x) with the bound of an f32 chain: each of its additions may be off by half a unit in
/// the last place of a partial sum that is at most the sum of the magnitudes.
inline BoundedSum reference_dot(const compute::WeightMatrix& matrix, int64_t row, const float* x) {
  const auto cols = static_cast<size_t>(matrix.cols);
  std::vector<float> w(cols);
  compute::decode_row(matrix, row, w.data());
  const bool quantized = compute::weights::quantizes_activations(matrix.type);
  const std::vector<double> input =
      quantized ? quantized_activations(x, matrix.cols) : std::vector<double>(x, x + cols);
  BoundedSum sum;
  double magnitude = 0.0;
  for (size_t i = 0; i < cols; ++i) {
    sum.value += static_cast<double>(w[i]) * input[i];
    magnitude += std::fabs(static_cast<double>(w[i]) * input[i]);
  }
  const double steps =
      quantized ? 3.0 * static_cast<double>(cols) / 16.0 : static_cast<double>(cols) / 16.0 + 5.0;
  // Formats with mins cancel: scale * code and min may both be larger than the weight, but not 64 times.
  const double cancel = quantized ? 64.0 : 1.0;
  sum.bound =
      std::numeric_limits<float>::epsilon() * (4.0 + std::sqrt(steps) * 2.0) * magnitude * cancel + 1e-30;
  return sum;
}

}  // namespace kvern::testing
