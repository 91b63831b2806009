// Weights as the kernels see them: borrowed views of mapped bytes, never copied.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/tensor/dtype.h"

namespace kvern::compute {

/// Scales and biases of an MLX affine matrix: [rows, cols / group_size] each, row-major; w = scale * code +
/// bias.
struct AffineParameters {
  const std::byte* scales = nullptr;
  const std::byte* biases = nullptr;
  DType type = DType::kF16;  ///< kF16, kBF16 or kF32, of both arrays
  int group_size = 64;       ///< 32, 64 or 128 along the columns
};

/// A matrix [rows, cols], row-major in blocks along the columns: out = W x has `rows` outputs and `cols`
/// inputs. Borrowed: whoever mapped the file keeps it alive. No alignment is assumed beyond one byte.
struct WeightMatrix {
  DType type = DType::kF32;
  int64_t rows = 0;
  int64_t cols = 0;
  const std::byte* data = nullptr;
  size_t row_stride_bytes = 0;  ///< usually row_bytes(type, cols)
  AffineParameters affine;      ///< only for kAffine4 and kAffine8
};

/// Rows [first, first + count) of a matrix, for example the query part of a fused qkv weight.
WeightMatrix rows_of(const WeightMatrix& matrix, int64_t first, int64_t count);

}  // namespace kvern::compute
