// Matrix products with stored weights: the kernel that most of a forward pass is.
#pragma once

#include <cstdint>
#include <span>

#include "compute/context.h"
#include "compute/tensor/weight.h"

namespace kvern::compute {

/// One product out = x * W^T. `out` is [tokens, weight.rows] with rows `out_stride` floats apart.
struct MatmulTask {
  WeightMatrix weight;
  float* out = nullptr;
  int64_t out_stride = 0;
};

/// Activations [tokens, cols], rows `stride` floats apart, f32.
struct MatmulInput {
  const float* x = nullptr;
  int64_t tokens = 0;
  int64_t cols = 0;
  int64_t stride = 0;
};

/// Computes every task on the same input (for example q, k and v), in one parallel region; the input is
/// quantized once if any weight is block-quantized. All weights have `input.cols` columns.
///
/// Numerics (docs/numerics.md): the bits of an output element depend on its weight row, its input row and the
/// dtype only; never on tokens, threads, target or what else is in the call.
void matmul(Context& context, const MatmulInput& input, std::span<const MatmulTask> tasks);

/// Decodes row `row` of a matrix to f32 [cols]: exact, the definition of each format. Used for embeddings.
void decode_row(const WeightMatrix& matrix, int64_t row, float* out);

}  // namespace kvern::compute
