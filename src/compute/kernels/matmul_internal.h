// What the parts of the matrix product share: the driver (matmul.cc) cuts a call into jobs, each of which is
// a run of weight rows; matmul_quantized.cc and matmul_plain.cc compute a job on one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/context.h"
#include "compute/kernels/matmul.h"

namespace kvern::compute::internal {

/// Weight rows that a job is a multiple of (except the last of a matrix).
inline constexpr int64_t kPanelRows = 32;
/// Streams of rows that a product with one token reads side by side, of block-quantized and of other weights
/// (the latter at most: targets with few registers read two).
inline constexpr int64_t kStreams = 16;
inline constexpr int64_t kPlainStreams = 4;

/// The quantized image of a call's activations; its layout belongs to the target (matmul_activations-inl.h).
struct QuantizedInput {
  std::byte* data = nullptr;
  int64_t tokens = 0;
  int64_t units = 0;  ///< of 32 columns
};

/// Rows [first_row, first_row + rows) of one product.
struct MatmulJob {
  const MatmulTask* task = nullptr;
  int64_t first_row = 0;
  int64_t rows = 0;
};

/// The functions of one target.
struct QuantizedMatmul {
  /// Bytes of the image of `tokens` activations of `units` units.
  size_t (*image_bytes)(int64_t tokens, int64_t units);
  /// How many parts the image is made in, each by one call of `quantize`.
  int64_t (*image_parts)(int64_t tokens);
  void (*quantize)(const MatmulInput& input, int64_t part, std::byte* image);
  void (*run)(const QuantizedInput& input, const MatmulJob& job, Scratch& scratch);
};
QuantizedMatmul quantized_matmul(CpuTarget target);

using PlainMatmul = void (*)(const MatmulInput& input, const MatmulJob& job, Scratch& scratch);
PlainMatmul plain_matmul(CpuTarget target);

}  // namespace kvern::compute::internal
