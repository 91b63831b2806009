// Root-mean-square and layer normalisation.
#pragma once

#include <cstdint>

#include "compute/context.h"

namespace kvern::compute {

/// Rows to normalise: [tokens, groups, n], each row of n normalised on its own. groups > 1 is per-head
/// normalisation (heads lie next to each other inside a token). `out` may be `x`.
struct NormTask {
  const float* x = nullptr;
  float* out = nullptr;
  int64_t tokens = 0;
  int64_t groups = 1;
  int64_t n = 0;
  int64_t x_stride = 0;    ///< floats from token to token; 0 = groups * n
  int64_t out_stride = 0;  ///< as x_stride
};

struct RmsNormWeights {
  const float* weight = nullptr;  ///< [n]; null = ones
  float eps = 1e-5F;
  float weight_offset = 0.0F;  ///< added to each weight: 1 for Gemma checkpoints that store w - 1
};

/// out = x * (1 / sqrt(mean(x * x) + eps)) * (weight + weight_offset).
///
/// Numerics: squares are summed in 16 lanes by index mod 16 (fma) and a fixed tree (lanes-inl.h); the mean,
/// the root and the quotient are one correctly rounded f32 operation each; so the bits depend on the row
/// only.
void rms_norm(Context& context, const NormTask& task, const RmsNormWeights& weights);

struct LayerNormWeights {
  const float* weight = nullptr;  ///< [n]; null = ones
  const float* bias = nullptr;    ///< [n]; null = zeros
  float eps = 1e-5F;
};

/// out = (x - mean) * (1 / sqrt(mean((x - mean)^2) + eps)) * weight + bias. Numerics as rms_norm; two passes.
void layer_norm(Context& context, const NormTask& task, const LayerNormWeights& weights);

}  // namespace kvern::compute
