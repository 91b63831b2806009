// MLX affine quantization: w = scale * code + bias, with scales and biases in arrays of their own, one pair
// for each group of 32, 64 or 128 columns. Codes are packed from the lowest bits of little-endian 32-bit
// words upwards, so byte i holds elements 2i (low half) and 2i + 1 at 4 bits. Source: mlx/ops.cpp of MLX
// (quantize, dequantize).
#pragma once

#include "compute/kernels/weights/unit.h"

namespace kvern::compute::weights {

/// Element `index` of a scale or bias array.
inline float load_parameter(const uint8_t* array, DType type, int64_t index) {
  if (type == DType::kF16) return load_f16(array + 2 * index);
  if (type == DType::kBF16) return bf16_to_f32(load_u16(array + 2 * index));
  return std::bit_cast<float>(load_u32(array + 4 * index));
}

inline void unpack_affine_parameters(const RowSource& row, int64_t unit, Unit& out) {
  const int64_t group = unit / row.group_units;
  out.scale[0] = out.scale[1] = load_parameter(row.scales, row.parameter_type, group);
  out.min = load_parameter(row.biases, row.parameter_type, group);
}

struct Affine4 {
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  static constexpr int kScales = 1;

  static void unpack(const RowSource& row, int64_t unit, Unit& out) {
    unpack_affine_parameters(row, unit, out);
    const uint8_t* bytes = row.data + unit * 16;
    for (int i = 0; i < kUnit; ++i) out.codes[i] = bytes[i / 2] >> (i % 2 * 4) & 15;
  }
};

struct Affine8 {
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  static constexpr int kScales = 1;

  static void unpack(const RowSource& row, int64_t unit, Unit& out) {
    unpack_affine_parameters(row, unit, out);
    std::memcpy(out.codes, row.data + unit * kUnit, kUnit);
  }
};

}  // namespace kvern::compute::weights
