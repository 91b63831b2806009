// Activations of feed-forward blocks, alone or gating a second input.
#pragma once

#include <cstdint>

#include "compute/context.h"

namespace kvern::compute {

enum class Activation : uint8_t {
  kSilu,      ///< x / (1 + e^-x)
  kGeluTanh,  ///< 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
  kGeluErf,   ///< 0.5 x (1 + erf(x / sqrt 2))
};

/// [tokens, n] inputs and output, with strides in floats from token to token (0 = n). `out` may be `gate` or
/// `up`.
struct GluTask {
  const float* gate = nullptr;
  const float* up = nullptr;  ///< null: out = activation(gate)
  float* out = nullptr;
  int64_t tokens = 0;
  int64_t n = 0;
  int64_t gate_stride = 0;
  int64_t up_stride = 0;
  int64_t out_stride = 0;
};

/// out = activation(gate) * up (SwiGLU, GeGLU), element by element; same bits on every target. Relative error
/// below 2e-6 of the exact activation where the result is a normal number (GELU by erf: absolute 5e-7 times
/// |x|).
void glu(Context& context, Activation activation, const GluTask& task);

}  // namespace kvern::compute
