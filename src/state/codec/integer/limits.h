// Sizes that the integer kernels keep scratch for.
#pragma once

#include <cstdint>

namespace kvern::state::integer {

inline constexpr int64_t kMaxDim = 1024;
inline constexpr int64_t kMinGroup = 32;
inline constexpr int64_t kMaxGroup = 128;
inline constexpr int64_t kMaxGroups = kMaxDim / kMinGroup;

/// Whether weights of values with codes of so many bits are held to 8 bits, not 16, before they are
/// multiplied with codes. Beside the error of few bits that of a weight is small, and products take half the
/// time. Queries have 8 bits for every key: their step is that of codes of 8 bits.
constexpr bool narrow_weights(int bits) { return bits <= 4; }

}  // namespace kvern::state::integer
