// TurboQuant (docs/kv-codecs.md): keys with a scale and a whole-numbered zero for each 32 numbers, not
// rotated; values, which the side rotates (Rotation::kSignedHadamard), by the Lloyd-Max tables of tables.h
// with the root mean square of each 32 numbers as their scale. Head sizes 64, 128, 256, 512.
#pragma once

#include <span>

#include "state/codec/codec.h"

namespace kvern::state {

/// 2, 4, 5, 8 bits.
std::span<const Codec> turbo_key_codecs();
/// 2, 3, 4, 5, 8 bits.
std::span<const Codec> turbo_value_codecs();

namespace turbo {

inline constexpr int64_t kGroup = 32;
inline constexpr float kEpsilon = 1e-8F;

constexpr bool takes_dim(int64_t dim) { return dim == 64 || dim == 128 || dim == 256 || dim == 512; }

}  // namespace turbo
}  // namespace kvern::state
