// Affine codes of 8 to 2 bits with a scale and a bias for each group of 32, 64 or 128 numbers of a head: the
// arithmetic of MLX's affine quantization (docs/kv-codecs.md).
#pragma once

#include <span>

#include "state/codec/codec.h"

namespace kvern::state {

/// All of them: bits 8, 6, 5, 4, 3, 2, each with groups of 32, 64, 128.
std::span<const Codec> affine_codecs();

}  // namespace kvern::state
