// Q5_0 and Q5_1: as Q4_0 and Q4_1, with a 32-bit word before the nibbles whose bit i is the fifth bit of
// element i. Q5_0: 22 bytes, w = d * (q - 16). Q5_1: 24 bytes, w = d * q + m. Source: ggml-common.h of
// llama.cpp, block_q5_0, block_q5_1.
#pragma once

#include "compute/kernels/weights/q4_0.h"

namespace kvern::compute::weights {

/// Adds bit i of `high_bits` to code i as its fifth bit.
inline void add_fifth_bits(uint32_t high_bits, uint8_t* codes) {
  for (int i = 0; i < kUnit; ++i) codes[i] |= static_cast<uint8_t>((high_bits >> i & 1) << 4);
}

struct Q5_0 {
  static constexpr int kOffset = 16;
  static constexpr bool kHasMin = false;
  static constexpr int kScales = 1;

  static void unpack(const RowSource& row, int64_t unit, Unit& out) {
    const uint8_t* block = row.data + unit * 22;
    out.scale[0] = out.scale[1] = load_f16(block);
    unpack_nibbles(block + 6, out.codes);
    add_fifth_bits(load_u32(block + 2), out.codes);
    out.min = 0.0f;
  }
};

struct Q5_1 {
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  static constexpr int kScales = 1;

  static void unpack(const RowSource& row, int64_t unit, Unit& out) {
    const uint8_t* block = row.data + unit * 24;
    out.scale[0] = out.scale[1] = load_f16(block);
    out.min = load_f16(block + 2);
    unpack_nibbles(block + 8, out.codes);
    add_fifth_bits(load_u32(block + 4), out.codes);
  }
};

}  // namespace kvern::compute::weights
