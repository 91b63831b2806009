// What all block-quantized weight formats have in common: a row is a sequence of units of 32 elements, and
// each element is scale * (code - offset) + min with an unsigned code of at most 8 bits.
#pragma once

#include <cstdint>
#include <cstring>

#include "compute/tensor/float16.h"
#include "compute/tensor/weight.h"

namespace kvern::compute::weights {

/// Elements of a unit. Divides the block of every format.
inline constexpr int kUnit = 32;

/// One unit, unpacked. Element i is scale[i / 16] * (codes[i] - kOffset) + min; kOffset and whether there is
/// a min are constants of the format. Formats with one scale per unit fill both.
struct Unit {
  uint8_t codes[kUnit];
  float scale[2];
  float min;
};

/// Where the bytes of one row are. Borrowed; no alignment.
struct RowSource {
  const uint8_t* data = nullptr;
  const uint8_t* scales = nullptr;  ///< affine only
  const uint8_t* biases = nullptr;  ///< affine only
  DType parameter_type = DType::kF16;
  int group_units = 1;  ///< affine only: units that share a scale
};

/// Row `row` of a block-quantized matrix.
inline RowSource row_source(const WeightMatrix& matrix, int64_t row) {
  RowSource source;
  source.data =
      reinterpret_cast<const uint8_t*>(matrix.data) + static_cast<size_t>(row) * matrix.row_stride_bytes;
  if (matrix.affine.scales != nullptr) {
    const AffineParameters& a = matrix.affine;
    const size_t offset = static_cast<size_t>(row) * row_bytes(a.type, matrix.cols / a.group_size);
    source.scales = reinterpret_cast<const uint8_t*>(a.scales) + offset;
    source.biases = reinterpret_cast<const uint8_t*>(a.biases) + offset;
    source.parameter_type = a.type;
    source.group_units = a.group_size / kUnit;
  }
  return source;
}

inline uint16_t load_u16(const uint8_t* p) {
  uint16_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline uint32_t load_u32(const uint8_t* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
/// A half-precision number at any address.
inline float load_f16(const uint8_t* p) { return f16_to_f32(load_u16(p)); }

}  // namespace kvern::compute::weights
