// Sizes that the integer kernels keep scratch for.
#pragma once

#include <cstdint>

namespace kvern::state::integer {

inline constexpr int64_t kMaxDim = 1024;
inline constexpr int64_t kMinGroup = 32;
inline constexpr int64_t kMaxGroup = 128;
inline constexpr int64_t kMaxGroups = kMaxDim / kMinGroup;

}  // namespace kvern::state::integer
