// Gemma 3n's sparse gates: of each row only what is far above its mean is kept.
#pragma once

#include <cstdint>

#include "compute/context.h"

namespace kvern::model {

/// x [tokens, n], changed in place.
struct GateRows {
  float* x = nullptr;
  int64_t tokens = 0;
  int64_t n = 0;
};

/// Each row: x = max(0, x - (mean + deviations * deviation)) with the row's mean and (population) standard
/// deviation. Both are summed in double (row_sum) and rounded to f32 once.
///
/// Source: _gaussian_topk of transformers, models/gemma3n.
void cut_gates(compute::Context& context, const GateRows& rows, float deviations);

}  // namespace kvern::model
