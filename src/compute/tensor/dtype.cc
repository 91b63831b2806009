#include "compute/tensor/dtype.h"

#include <array>

#include "base/check.h"
#include "compute/tensor/weight.h"

namespace kvern::compute {
namespace {

// Block sizes: ggml/src/ggml-common.h of llama.cpp (block_* structures); MLX packs codes into 32-bit words.
constexpr std::array<DTypeTraits, kDTypeCount> kTraits = {{
    {"f32", 1, 4},
    {"f16", 1, 2},
    {"bf16", 1, 2},
    {"q8_0", 32, 34},
    {"q4_0", 32, 18},
    {"q4_1", 32, 20},
    {"q5_0", 32, 22},
    {"q5_1", 32, 24},
    {"q4_k", 256, 144},
    {"q5_k", 256, 176},
    {"q6_k", 256, 210},
    {"affine4", 8, 4},
    {"affine8", 4, 4},
}};

}  // namespace

const DTypeTraits& traits(DType type) { return kTraits.at(static_cast<size_t>(type)); }

WeightMatrix rows_of(const WeightMatrix& matrix, int64_t first, int64_t count) {
  KVERN_CHECK(first >= 0 && count >= 0 && first + count <= matrix.rows);
  WeightMatrix part = matrix;
  part.rows = count;
  part.data += static_cast<size_t>(first) * matrix.row_stride_bytes;
  if (matrix.affine.scales != nullptr) {
    const size_t stride = row_bytes(matrix.affine.type, matrix.cols / matrix.affine.group_size);
    part.affine.scales += static_cast<size_t>(first) * stride;
    part.affine.biases += static_cast<size_t>(first) * stride;
  }
  return part;
}

}  // namespace kvern::compute
