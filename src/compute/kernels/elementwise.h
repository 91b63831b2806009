// Element-by-element operations on dense arrays; one rounding each, so every target gives the same bits.
#pragma once

#include <cstdint>
#include <span>

#include "compute/context.h"

namespace kvern::compute {

/// out[i] = a[i] + b[i]; `out` may be `a` or `b`. All of one size.
void add(Context& context, std::span<const float> a, std::span<const float> b, std::span<float> out);

/// x[i] *= factor.
void scale(Context& context, std::span<float> x, float factor);

/// x[i] = cap * tanh(x[i] / cap): Gemma's soft cap of logits and scores. cap > 0.
void soft_cap(Context& context, std::span<float> x, float cap);

/// x [tokens, n] with rows `stride` floats apart (0 = n).
struct BiasTask {
  float* x = nullptr;
  int64_t tokens = 0;
  int64_t stride = 0;
};

/// x[t, i] += bias[i]; n is bias.size().
void add_bias(Context& context, const BiasTask& task, std::span<const float> bias);

}  // namespace kvern::compute
