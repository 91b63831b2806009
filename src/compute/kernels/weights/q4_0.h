// Q4_0 and Q4_1: 32 elements in 16 bytes of nibbles, byte i holding elements i (low) and i + 16 (high).
// Q4_0: scale f16 before them, 18 bytes, w = d * (q - 8). Q4_1: scale and min f16, 20 bytes, w = d * q + m.
// Source: ggml-common.h of llama.cpp, block_q4_0, block_q4_1.
#pragma once

#include "compute/kernels/weights/unit.h"

namespace kvern::compute::weights {

/// Splits 16 bytes into 16 low nibbles and 16 high nibbles.
inline void unpack_nibbles(const uint8_t* bytes, uint8_t* codes) {
  for (int i = 0; i < 16; ++i) {
    codes[i] = bytes[i] & 15;
    codes[i + 16] = bytes[i] >> 4;
  }
}

struct Q4_0 {
  static constexpr int kOffset = 8;
  static constexpr bool kHasMin = false;
  static constexpr int kScales = 1;

  static void unpack(const RowSource& row, int64_t unit, Unit& out) {
    const uint8_t* block = row.data + unit * 18;
    out.scale[0] = out.scale[1] = load_f16(block);
    unpack_nibbles(block + 2, out.codes);
    out.min = 0.0f;
  }
};

struct Q4_1 {
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  static constexpr int kScales = 1;

  static void unpack(const RowSource& row, int64_t unit, Unit& out) {
    const uint8_t* block = row.data + unit * 20;
    out.scale[0] = out.scale[1] = load_f16(block);
    out.min = load_f16(block + 2);
    unpack_nibbles(block + 4, out.codes);
  }
};

}  // namespace kvern::compute::weights
