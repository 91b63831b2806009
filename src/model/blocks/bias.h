// Biases, which some models have and most have not.
#pragma once

#include <vector>

#include "compute/kernels/elementwise.h"
#include "model/blocks/step_view.h"

namespace kvern::model {

/// x [tokens, bias.size()] += bias; nothing where the model has none.
inline void add_bias(const StepView& step, float* x, const std::vector<float>& bias) {
  if (!bias.empty()) compute::add_bias(step.context, {.x = x, .tokens = step.tokens}, bias);
}

}  // namespace kvern::model
