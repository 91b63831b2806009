// Sizes that the integer kernels keep scratch for.
#pragma once

#include <cstdint>

namespace kvern::state::integer {

inline constexpr int64_t kMaxDim = 1024;
inline constexpr int64_t kMinGroup = 32;
inline constexpr int64_t kMaxGroup = 128;
inline constexpr int64_t kMaxGroups = kMaxDim / kMinGroup;

/// Whether a query is held to 8 bits, not 16, when keys have codes of `bits`: beside the error of so few
/// bits, that of the query is negligible, and scores take half the time.
constexpr bool narrow_queries(int bits) { return bits <= 5; }

}  // namespace kvern::state::integer
