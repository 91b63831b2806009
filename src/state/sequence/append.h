// Encodes the new keys and values of a step into storage.
#pragma once

#include "compute/context.h"
#include "state/attend/attend.h"

namespace kvern::state {

/// New keys and values of one layer for all tokens of a step; the keys are already rotated by position.
/// Strides are floats from token to token, 0 = dense. Borrowed for the call.
struct AppendArgs {
  const float* k = nullptr;  ///< [tokens, kv_heads, k_dim]
  const float* v = nullptr;  ///< [tokens, kv_heads, v_dim]
  int64_t k_stride = 0;
  int64_t v_stride = 0;
};

/// Writes positions [first, first + tokens) of each row of the step in all forms that the layer's layouts
/// have room for. A position that is kept in both forms is encoded from what full precision gives back; a row
/// that begins to be encoded with this step is encoded from its first position on.
void encode_step(compute::Context& context, const AttendSource& target, const AppendArgs& args);

}  // namespace kvern::state
