// The numerics contract of the matrix product in scalar code: the exact order of operations of one output
// element. Kernels must give these bits on every target, whatever else is in the call.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "compute/kernels/matmul.h"
#include "compute/kernels/weights/formats.h"

namespace kvern::testing {

/// kWrong exists to prove that a comparison of bits notices another order of the same sum.
enum class SumOrder : uint8_t { kDefined, kWrong };

namespace matmul_definition_detail {

struct Activations {
  std::array<int, 32> q;
  float d;
};

inline Activations quantize_unit(const float* x) {
  float largest = 0.0f;
  bool finite = true;
  for (int i = 0; i < 32; ++i) {
    finite &= std::isfinite(x[i]);
    largest = std::max(largest, std::fabs(x[i]));
  }
  Activations result = {};
  if (!finite) result.d = std::numeric_limits<float>::quiet_NaN();
  if (!finite || largest < 0x1p-100f) return result;
  result.d = largest / 127.0f;
  const float inverse = 127.0f / largest;
  for (size_t i = 0; i < 32; ++i) result.q[i] = static_cast<int>(std::nearbyintf(x[i] * inverse));
  return result;
}

template <typename Format>
float quantized_output(const compute::WeightMatrix& matrix, int64_t row, const float* x, SumOrder order) {
  const auto source = compute::weights::row_source(matrix, row);
  const int64_t units = matrix.cols / 32;
  float acc = 0.0f;
  for (int64_t i = 0; i < units; ++i) {
    const int64_t u = order == SumOrder::kDefined ? i : units - 1 - i;
    compute::weights::Unit unit;
    Format::unpack(source, u, unit);
    const Activations a = quantize_unit(x + u * 32);
    int dots[2] = {0, 0};
    int sum = 0;
    for (int k = 0; k < 32; ++k) {
      dots[k / 16] += (unit.codes[k] - Format::kOffset) * a.q[static_cast<size_t>(k)];
      sum += a.q[static_cast<size_t>(k)];
    }
    if (Format::kScales == 1) dots[0] += dots[1];
    for (int s = 0; s < Format::kScales; ++s) {
      acc = std::fma(unit.scale[s] * a.d, static_cast<float>(dots[s]), acc);
    }
    if (Format::kHasMin) acc = std::fma(unit.min, a.d * static_cast<float>(sum), acc);
  }
  return acc;
}

inline float plain_output(const compute::WeightMatrix& matrix, int64_t row, const float* x, SumOrder order) {
  std::vector<float> w(static_cast<size_t>(matrix.cols));
  compute::decode_row(matrix, row, w.data());
  float lanes[16] = {};
  for (int64_t k = 0; k < (matrix.cols + 15) / 16 * 16; ++k) {
    const bool inside = k < matrix.cols;
    lanes[k % 16] = std::fma(inside ? w[static_cast<size_t>(k)] : 0.0f, inside ? x[k] : 0.0f, lanes[k % 16]);
  }
  if (order == SumOrder::kWrong) {
    float sum = 0.0f;
    for (const float lane : lanes) sum += lane;
    return sum;
  }
  for (const int half : {8, 4, 2, 1}) {
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

}  // namespace matmul_definition_detail

/// Output element (row, x) bit for bit.
inline float defined_output(const compute::WeightMatrix& matrix, int64_t row, const float* x,
                            SumOrder order = SumOrder::kDefined) {
  namespace detail = matmul_definition_detail;
  if (!compute::weights::quantizes_activations(matrix.type))
    return detail::plain_output(matrix, row, x, order);
  return compute::weights::visit_blocks(matrix.type, [&](auto format) {
    return detail::quantized_output<decltype(format)>(matrix, row, x, order);
  });
}

/// The whole product [tokens, rows].
inline std::vector<float> defined_product(const compute::WeightMatrix& matrix, const std::vector<float>& x,
                                          SumOrder order = SumOrder::kDefined) {
  std::vector<float> out;
  for (size_t begin = 0; begin < x.size(); begin += static_cast<size_t>(matrix.cols)) {
    for (int64_t row = 0; row < matrix.rows; ++row) {
      out.push_back(defined_output(matrix, row, x.data() + begin, order));
    }
  }
  return out;
}

}  // namespace kvern::testing
