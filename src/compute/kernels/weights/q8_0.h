// Q8_0: 32 elements in 34 bytes: scale f16, 32 signed codes. Source: ggml-common.h of llama.cpp, block_q8_0.
#pragma once

#include "compute/kernels/weights/unit.h"

namespace kvern::compute::weights {

struct Q8_0 {
  static constexpr int kOffset = 128;
  static constexpr bool kHasMin = false;
  static constexpr int kScales = 1;

  static void unpack(const RowSource& row, int64_t unit, Unit& out) {
    const uint8_t* block = row.data + unit * 34;
    out.scale[0] = out.scale[1] = load_f16(block);
    // A signed code with its top bit flipped is the code plus 128.
    for (int i = 0; i < kUnit; ++i) out.codes[i] = block[2 + i] ^ 0x80;
    out.min = 0.0f;
  }
};

}  // namespace kvern::compute::weights
