// How much memory this process may take, and what share of it keys and values get when nobody says.
#pragma once

#include <cstddef>
#include <optional>

#include "base/files.h"

namespace kvern::engine {

/// What the machine could give without swapping (MemAvailable of /proc/meminfo, proc(5)), or the limit of the
/// process's control group where that is less (memory.max, cgroups(7) version 2). Nothing where neither can
/// be read.
std::optional<size_t> available_memory(Files& files);

/// Three quarters of what is left beside the weights, at least 64 MiB; 0, which is no limit, when it is not
/// known what there is.
size_t default_kv_budget(std::optional<size_t> available_bytes, size_t weight_bytes);

}  // namespace kvern::engine
