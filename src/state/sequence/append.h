// Encodes the new keys and values of a step into storage.
#pragma once

#include "state/attend/attend.h"

namespace kvern::state {

struct AppendArgs;

/// Writes positions [first, first + tokens) of each row of the step, in all heads of one layer.
void encode_step(compute::Context& context, const AttendSource& target, const AppendArgs& args);

}  // namespace kvern::state
