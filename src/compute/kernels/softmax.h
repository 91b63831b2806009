// Reductions over one row of logits, for sampling and log-probabilities. Serial: a row is short work.
#pragma once

#include <cstdint>
#include <span>

#include "compute/context.h"

namespace kvern::compute {

/// log(sum(exp(x))), stable. In blocks of 1024 elements: exp(x - max) is summed in 16 f32 lanes by index mod
/// 16 and a fixed tree; blocks are added in order in double. -inf elements count nothing; all -inf gives
/// -inf; a NaN gives NaN. x is not empty.
double log_sum_exp(const Context& context, std::span<const float> x);

/// In place: x[i] = exp(x[i] - max) / sum, with the sum of log_sum_exp. A row of only -inf becomes zeros.
void softmax(const Context& context, std::span<float> x);

/// Index of the largest element, the lowest one on a tie; NaN never wins against a number; all NaN gives 0.
int64_t argmax(const Context& context, std::span<const float> x);

}  // namespace kvern::compute
