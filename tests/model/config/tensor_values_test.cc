#include "model/config/tensor_values.h"

#include <bit>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::model {
namespace {

using compute::DType;

template <typename T>
StoredTensor vector_of(DType type, const std::vector<T>& values) {
  return {.name = "norm",
          .type = type,
          .shape = {static_cast<int64_t>(values.size())},
          .bytes = std::as_bytes(std::span(values)),
          .file = "m.gguf"};
}

TEST(TensorValues, come_as_f32_from_all_float_types) {
  const std::vector<float> f32 = {1.5F, -2.0F};
  EXPECT_THAT(f32_values(vector_of(DType::kF32, f32), 2).value(), testing::ElementsAre(1.5F, -2.0F));
  const std::vector<uint16_t> f16 = {0x3c00, 0x0001, 0xfbff};
  EXPECT_THAT(f32_values(vector_of(DType::kF16, f16), 3).value(),
              testing::ElementsAre(1.0F, 0x1p-24F, -65504.0F));
  const std::vector<uint16_t> bf16 = {0x3f80, 0xc000};
  EXPECT_THAT(f32_values(vector_of(DType::kBF16, bf16), 2).value(), testing::ElementsAre(1.0F, -2.0F));
}

TEST(TensorValues, of_another_shape_or_type_are_errors_that_name_file_and_tensor) {
  const std::vector<float> values(4);
  StoredTensor tensor = vector_of(DType::kF32, values);
  EXPECT_ERROR(f32_values(tensor, 5), kCorrupt, "m.gguf: tensor 'norm': expected shape [5], found [4]");
  tensor.shape = {2, 2};
  EXPECT_ERROR(f32_values(tensor, 4), kCorrupt, "expected shape [4], found [2, 2]");
  tensor.shape = {4};
  tensor.type = DType::kQ8_0;
  EXPECT_ERROR(f32_values(tensor, 4), kCorrupt, "expected f32, f16 or bf16, found q8_0");
  tensor.type.reset();
  EXPECT_ERROR(f32_values(tensor, 4), kCorrupt, "found u32");
}

TEST(TensorValues, that_are_not_finite_are_errors) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const std::vector<float> values = {1.0F, bad};
    EXPECT_ERROR(f32_values(vector_of(DType::kF32, values), 2), kCorrupt, "element 1 is");
  }
}

}  // namespace
}  // namespace kvern::model
