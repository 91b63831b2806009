// Q6_K: 256 elements in 210 bytes: 128 bytes of low nibbles, 64 bytes of 2-bit tops, 16 signed scales (one
// for each 16 elements), d f16; w = (d * scale) * (q - 32). Each half of 128 elements is four units v = 0..3
// that share 64 nibble bytes (units 0 and 2: the first 32, units 1 and 3: the others; 2 and 3 in the high
// halves) and 32 bytes of tops (unit v in bits 2v and 2v + 1). Source: ggml-common.h and ggml-quants.c of
// llama.cpp, block_q6_K.
#pragma once

#include "compute/kernels/weights/unit.h"

namespace kvern::compute::weights {

struct Q6_K {
  static constexpr int kOffset = 32;
  static constexpr bool kHasMin = false;
  static constexpr int kScales = 2;

  static void unpack(const RowSource& row, int64_t unit, Unit& out) {
    const uint8_t* block = row.data + unit / 8 * 210;
    const int half = static_cast<int>(unit % 8) / 4;
    const int v = static_cast<int>(unit % 4);
    const uint8_t* nibbles = block + half * 64 + v % 2 * 32;
    const uint8_t* tops = block + 128 + half * 32;
    for (int i = 0; i < kUnit; ++i) {
      out.codes[i] = static_cast<uint8_t>((nibbles[i] >> (v / 2 * 4) & 15) | (tops[i] >> (2 * v) & 3) << 4);
    }
    const uint8_t* scales = block + 192 + unit % 8 * 2;
    const float d = load_f16(block + 208);
    out.scale[0] = d * static_cast<float>(static_cast<int8_t>(scales[0]));
    out.scale[1] = d * static_cast<float>(static_cast<int8_t>(scales[1]));
    out.min = 0.0f;
  }
};

}  // namespace kvern::compute::weights
