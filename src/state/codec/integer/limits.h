// Sizes that the integer kernels keep scratch for.
#pragma once

#include <cstdint>

namespace kvern::state::integer {

inline constexpr int64_t kMaxDim = 1024;
inline constexpr int64_t kMinGroup = 32;
inline constexpr int64_t kMaxGroup = 128;
inline constexpr int64_t kMaxGroups = kMaxDim / kMinGroup;

/// What is held to 8 bits, not 16, before it is multiplied with codes: beside the error of few bits, that of
/// a query or of weights is small, and products take half the time.
enum class FactorWidth : uint8_t { kWide, kNarrowQueries, kNarrow };

/// For codes of `bits`.
constexpr FactorWidth factor_width(int bits) {
  if (bits > 5) return FactorWidth::kWide;
  return bits == 5 ? FactorWidth::kNarrowQueries : FactorWidth::kNarrow;
}

}  // namespace kvern::state::integer
