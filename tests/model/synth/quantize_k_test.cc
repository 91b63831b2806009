// The packing of super-blocks, by values that have exact codes.
#include "model/synth/quantize_k.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "compute/kernels/matmul.h"
#include "compute/tensor/weight.h"

namespace kvern::model {
namespace {

using compute::DType;
using Encoder = void (*)(std::span<const float, kSuperBlock>, std::byte*);

std::vector<float> decoded(DType type, Encoder encode, const std::vector<float>& values) {
  std::vector<std::byte> bytes(static_cast<size_t>(compute::traits(type).block_bytes));
  encode(std::span(values).first<kSuperBlock>(), bytes.data());
  std::vector<float> out(kSuperBlock);
  compute::decode_row({.type = type,
                       .rows = 1,
                       .cols = kSuperBlock,
                       .data = bytes.data(),
                       .row_stride_bytes = bytes.size(),
                       .affine = {}},
                      0, out.data());
  return out;
}

// Sub-block p counts in steps of scale(p), which is a whole multiple of d = 1; so nothing is rounded.
TEST(QuantizeK, is_exact_for_q4_k_and_q5_k_where_all_scales_are_representable) {
  for (const auto& [type, encode, top] :
       {std::tuple(DType::kQ4_K, &encode_q4_k, 15), {DType::kQ5_K, &encode_q5_k, 31}}) {
    std::vector<float> values(kSuperBlock);
    for (size_t p = 0; p < 8; ++p) {
      const float scale = p == 5 ? 63.0F : static_cast<float>(7 * p + 1);
      for (size_t i = 0; i < 32; ++i)
        values[p * 32 + i] = scale * static_cast<float>((i * 11 + p) % (static_cast<size_t>(top) + 1));
      values[p * 32] = scale * static_cast<float>(top);
      values[p * 32 + 1] = 0.0F;
    }
    EXPECT_EQ(decoded(type, encode, values), values) << compute::traits(type).name;
  }
}

TEST(QuantizeK, is_exact_for_q6_k_where_all_scales_are_representable) {
  std::vector<float> values(kSuperBlock);
  for (size_t p = 0; p < 16; ++p) {
    const float scale = p == 9 ? 128.0F : static_cast<float>(5 * p + 2);
    for (size_t i = 0; i < 16; ++i)
      values[p * 16 + i] = scale * static_cast<float>(static_cast<int>((i * 19 + p) % 63) - 31);
    values[p * 16 + p] = scale * 32.0F;  // the extreme gets the lowest code
  }
  EXPECT_EQ(decoded(DType::kQ6_K, &encode_q6_k, values), values);
}

}  // namespace
}  // namespace kvern::model
