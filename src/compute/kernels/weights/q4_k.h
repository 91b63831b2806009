// Q4_K and Q5_K: 256 elements in 8 units of 32. A block begins with d and dmin (f16) and 12 bytes that hold a
// 6-bit scale and a 6-bit min for each unit; w = (d * scale) * q - dmin * min. Q4_K (144 bytes): nibbles
// follow, 32 bytes for each pair of units, the even unit in the low halves. Q5_K (176 bytes): 32 bytes come
// before them, whose bit u of byte i is the fifth bit of element i of unit u. Source: ggml-common.h and
// ggml-quants.c of llama.cpp, block_q4_K, block_q5_K, get_scale_min_k4.
#pragma once

#include "compute/kernels/weights/unit.h"

namespace kvern::compute::weights {

struct ScaleMin {
  uint8_t scale;
  uint8_t min;
};

/// The 6-bit scale and min of unit `u` (0..7). Units 0..3 have bytes of their own; units 4..7 take four bits
/// from bytes 8..11 and two from the tops of the first eight.
inline ScaleMin unpack_scale_min(const uint8_t* packed, int u) {
  if (u < 4) {
    return {static_cast<uint8_t>(packed[u] & 63), static_cast<uint8_t>(packed[u + 4] & 63)};
  }
  return {static_cast<uint8_t>((packed[u + 4] & 15) | packed[u - 4] >> 6 << 4),
          static_cast<uint8_t>(packed[u + 4] >> 4 | packed[u] >> 6 << 4)};
}

/// Scale and min of unit `u` of the block: both products are exact in f32 (11 + 6 bits).
inline void unpack_k_scales(const uint8_t* block, int u, Unit& out) {
  const ScaleMin packed = unpack_scale_min(block + 4, u);
  out.scale[0] = out.scale[1] = load_f16(block) * static_cast<float>(packed.scale);
  out.min = -(load_f16(block + 2) * static_cast<float>(packed.min));
}

struct Q4_K {
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  static constexpr int kScales = 1;

  static void unpack(const RowSource& row, int64_t unit, Unit& out) {
    const uint8_t* block = row.data + unit / 8 * 144;
    const int u = static_cast<int>(unit % 8);
    unpack_k_scales(block, u, out);
    const uint8_t* nibbles = block + 16 + u / 2 * 32;
    for (int i = 0; i < kUnit; ++i) out.codes[i] = nibbles[i] >> (u % 2 * 4) & 15;
  }
};

struct Q5_K {
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  static constexpr int kScales = 1;

  static void unpack(const RowSource& row, int64_t unit, Unit& out) {
    const uint8_t* block = row.data + unit / 8 * 176;
    const int u = static_cast<int>(unit % 8);
    unpack_k_scales(block, u, out);
    const uint8_t* nibbles = block + 48 + u / 2 * 32;
    for (int i = 0; i < kUnit; ++i) {
      out.codes[i] = static_cast<uint8_t>((nibbles[i] >> (u % 2 * 4) & 15) | (block[16 + i] >> u & 1) << 4);
    }
  }
};

}  // namespace kvern::compute::weights
