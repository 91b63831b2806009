// Conversions between f32 and the 16-bit formats.
#pragma once

#include <cstdint>
#include <span>

#include "compute/context.h"

namespace kvern::compute {

/// Rounds to nearest, ties to even; overflow gives infinity, subnormals are kept, NaN stays a quiet NaN
/// (upper bits of its payload kept). The same bits on every target. Spans are of one size.
void f32_to_f16(const Context& context, std::span<const float> from, std::span<uint16_t> to);
void f32_to_bf16(const Context& context, std::span<const float> from, std::span<uint16_t> to);
/// Exact.
void f16_to_f32(const Context& context, std::span<const uint16_t> from, std::span<float> to);
void bf16_to_f32(const Context& context, std::span<const uint16_t> from, std::span<float> to);

}  // namespace kvern::compute
