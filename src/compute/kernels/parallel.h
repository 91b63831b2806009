// Cuts independent elements or rows into tasks. Where the cuts fall never shows in the results.
#pragma once

#include <algorithm>
#include <cstdint>

#include "compute/context.h"

namespace kvern::compute {

/// Calls f(begin, end) for consecutive ranges that cover [0, count), each at least `grain` long (but the
/// last); on the calling thread alone when there is only one.
template <typename F>
void for_ranges(Context& context, int64_t count, int64_t grain, const F& f) {
  const int64_t most = static_cast<int64_t>(context.pool().threads()) * 4;
  const int64_t size = std::max({grain, (count + most - 1) / most, int64_t{1}});
  const int64_t tasks = (count + size - 1) / size;
  context.pool().run(tasks, [&](int64_t i, int) { f(i * size, std::min(count, (i + 1) * size)); });
}

}  // namespace kvern::compute
