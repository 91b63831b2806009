// Encodes f32 rows into the formats that GGUF files hold.
#pragma once

#include <cstdint>
#include <span>

#include "compute/tensor/dtype.h"

namespace kvern::model {

/// Encodes `from` (a multiple of the block) to `to` (row_bytes(type, from.size()) bytes). f16 and bf16 round
/// to nearest even; Q8_0, Q4_0, Q4_1, Q5_0 and Q5_1 round as the reference quantizers of ggml do (byte for
/// byte); Q4_K, Q5_K and Q6_K are valid and close, by the extremes of each sub-block, without ggml's search
/// for better scales. Input is finite. Affine formats are a KVERN_CHECK.
void encode_row(compute::DType type, std::span<const float> from, std::span<std::byte> to);

/// IEEE 754 binary16, to nearest, ties to even; overflow gives infinity.
uint16_t f32_to_f16_bits(float value);

}  // namespace kvern::model
