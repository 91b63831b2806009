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

/// out = activation(gate) * up (SwiGLU, GeGLU), element by element; same bits on every target. The activation
/// has a relative error below 6e-6 for |x| <= 4; in the far negative tail its rounded exponent costs more
/// (below 4e-5), and results smaller than |x| * 3e-39 become 0.
void glu(Context& context, Activation activation, const GluTask& task);

}  // namespace kvern::compute
