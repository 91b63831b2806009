// decode_row: the scalar definition of each weight format.
#include <bit>

#include "base/check.h"
#include "compute/kernels/matmul.h"
#include "compute/kernels/weights/formats.h"

namespace kvern::compute {
namespace {

template <typename Format>
void decode_units(const weights::RowSource& row, int64_t cols, float* out) {
  weights::Unit unit;
  for (int64_t u = 0; u < cols / weights::kUnit; ++u) {
    Format::unpack(row, u, unit);
    for (int i = 0; i < weights::kUnit; ++i) {
      float value = unit.scale[i / 16] * static_cast<float>(unit.codes[i] - Format::kOffset);
      // Adding a zero min would turn -0 into +0.
      if constexpr (Format::kHasMin) value += unit.min;
      out[u * weights::kUnit + i] = value;
    }
  }
}

}  // namespace

void decode_row(const WeightMatrix& matrix, int64_t row, float* out) {
  KVERN_CHECK(row >= 0 && row < matrix.rows);
  const auto* data =
      reinterpret_cast<const uint8_t*>(matrix.data) + static_cast<size_t>(row) * matrix.row_stride_bytes;
  switch (matrix.type) {
    case DType::kF32:
      std::memcpy(out, data, static_cast<size_t>(matrix.cols) * sizeof(float));
      return;
    case DType::kF16:
      for (int64_t i = 0; i < matrix.cols; ++i) out[i] = weights::load_f16(data + 2 * i);
      return;
    case DType::kBF16:
      for (int64_t i = 0; i < matrix.cols; ++i) out[i] = bf16_to_f32(weights::load_u16(data + 2 * i));
      return;
    default:
      KVERN_CHECK(matrix.cols % weights::kUnit == 0);
      weights::visit_quantized(matrix.type, [&](auto format) {
        decode_units<decltype(format)>(weights::row_source(matrix, row), matrix.cols, out);
      });
  }
}

}  // namespace kvern::compute
