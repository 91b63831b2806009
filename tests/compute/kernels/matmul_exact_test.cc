// The bits of a product: the same on every target, for any number of tokens and threads, at any address,
// beside anything.
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "compute/kernels/matmul.h"
#include "support/matmul_call.h"
#include "support/random_weights.h"
#include "support/reference/matmul_definition.h"

namespace kvern::compute {
namespace {

using kvern::testing::defined_product;
using kvern::testing::kAllDTypes;
using kvern::testing::multiply;
using kvern::testing::OwnedMatrix;
using kvern::testing::random_activations;
using kvern::testing::random_matrix;
using kvern::testing::same_bits;
using kvern::testing::SumOrder;
using kvern::testing::supported_targets;

std::vector<float> slice(const std::vector<float>& all, int64_t begin, int64_t count) {
  return {all.begin() + begin, all.begin() + begin + count};
}

class MatmulBits : public ::testing::TestWithParam<DType> {
 protected:
  /// Columns to try: block multiples for quantized types, ends of every kind for plain ones.
  static std::vector<int64_t> column_counts() {
    const int block = traits(GetParam()).block_elements;
    if (block == 1) return {1, 15, 16, 17, 31, 64, 100, 257};
    if (block == 256) return {256, 512, 768, 2304};
    if (GetParam() == DType::kAffine4 || GetParam() == DType::kAffine8) return {64, 128, 512, 576, 1088};
    return {32, 64, 96, 512, 544, 1088};
  }
};

TEST_P(MatmulBits, AreThoseOfTheDefinitionOnEveryTarget) {
  for (const int64_t cols : column_counts()) {
    for (const int64_t rows : {1, 2, 15, 16, 17, 31, 32, 33, 40, 65}) {
      const OwnedMatrix w = random_matrix({.type = GetParam(), .rows = rows, .cols = cols, .seed = 5});
      for (const int64_t tokens : {1, 2, 3, 4, 5, 6, 7, 13, 20, 35}) {
        const auto x = random_activations(tokens * cols, static_cast<uint64_t>(tokens));
        const auto expected = defined_product(w.view, x);
        for (const CpuTarget target : supported_targets()) {
          Context context(target, 1);
          ASSERT_TRUE(same_bits(multiply(context, w.view, x), expected))
              << to_string(target) << " " << rows << " x " << cols << ", " << tokens << " tokens";
        }
      }
    }
  }
}

TEST_P(MatmulBits, AreTheSameForATokenAloneAndAtAnyPlaceOfABatch) {
  const int64_t cols = column_counts().back();
  const OwnedMatrix w = random_matrix({.type = GetParam(), .rows = 50, .cols = cols});
  const auto x = random_activations(64 * cols, 9);
  for (const CpuTarget target : supported_targets()) {
    Context context(target, 2);
    const auto batch = multiply(context, w.view, x);
    for (const int64_t t : {0, 1, 5, 6, 30, 63}) {
      EXPECT_TRUE(same_bits(multiply(context, w.view, slice(x, t * cols, cols)), slice(batch, t * 50, 50)));
    }
    for (const int64_t first : {0, 3, 40}) {
      const auto part = multiply(context, w.view, slice(x, first * cols, 9 * cols));
      EXPECT_TRUE(same_bits(part, slice(batch, first * 50, 9 * 50)));
    }
  }
}

TEST_P(MatmulBits, AreTheSameForAnyNumberOfThreads) {
  const int64_t cols = column_counts().back();
  const OwnedMatrix w = random_matrix({.type = GetParam(), .rows = 700, .cols = cols});
  for (const int64_t tokens : {1, 7, 40}) {
    const auto x = random_activations(tokens * cols, 2);
    for (const CpuTarget target : supported_targets()) {
      Context one(target, 1);
      const auto expected = multiply(one, w.view, x);
      for (const int threads : {2, 3, 8}) {
        Context context(target, threads);
        EXPECT_TRUE(same_bits(multiply(context, w.view, x), expected)) << threads << " threads, " << tokens;
      }
    }
  }
}

TEST_P(MatmulBits, DoNotDependOnAlignmentOrOnTheDistanceOfRows) {
  const int64_t cols = column_counts().back();
  const OwnedMatrix aligned = random_matrix({.type = GetParam(), .rows = 20, .cols = cols});
  const size_t bytes = row_bytes(GetParam(), cols);
  for (const size_t offset : {1u, 2u, 7u}) {
    std::vector<std::byte> moved(20 * (bytes + 5) + offset);
    for (size_t r = 0; r < 20; ++r) {
      std::memcpy(moved.data() + offset + r * (bytes + 5), aligned.view.data + r * bytes, bytes);
    }
    WeightMatrix w = aligned.view;
    w.data = moved.data() + offset;
    w.row_stride_bytes = bytes + 5;
    for (const int64_t tokens : {1, 8}) {
      const auto x = random_activations(tokens * cols, 4);
      for (const CpuTarget target : supported_targets()) {
        Context context(target, 1);
        EXPECT_TRUE(same_bits(multiply(context, w, x), multiply(context, aligned.view, x))) << offset;
      }
    }
  }
}

TEST_P(MatmulBits, AreTheSameForRowsOfAPartOfTheMatrix) {
  const int64_t cols = column_counts().back();
  const OwnedMatrix w = random_matrix({.type = GetParam(), .rows = 90, .cols = cols});
  const auto x = random_activations(2 * cols, 11);
  for (const CpuTarget target : supported_targets()) {
    Context context(target, 2);
    const auto whole = multiply(context, w.view, x);
    const auto part = multiply(context, rows_of(w.view, 33, 41), x);
    for (int64_t t = 0; t < 2; ++t) {
      EXPECT_TRUE(same_bits(slice(part, t * 41, 41), slice(whole, t * 90 + 33, 41)));
    }
  }
}

// The comparison above would prove nothing if it could not see a sum in another order.
TEST_P(MatmulBits, OfAnotherOrderOfTheSumAreSeenToDiffer) {
  const int64_t cols = column_counts().back();
  const OwnedMatrix w = random_matrix({.type = GetParam(), .rows = 40, .cols = cols});
  const auto x = random_activations(cols, 1);
  EXPECT_FALSE(same_bits(defined_product(w.view, x, SumOrder::kWrong), defined_product(w.view, x)));
}

INSTANTIATE_TEST_SUITE_P(AllDTypes, MatmulBits, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& param_info) { return std::string(traits(param_info.param).name); });

TEST(MatmulAffine, KnowsEveryGroupSizeAndTypeOfParameters) {
  for (const DType type : {DType::kAffine4, DType::kAffine8}) {
    for (const int group : {32, 64, 128}) {
      for (const DType parameters : {DType::kF32, DType::kF16, DType::kBF16}) {
        const OwnedMatrix w = random_matrix(
            {.type = type, .rows = 37, .cols = 640, .group_size = group, .affine_type = parameters});
        const auto x = random_activations(7 * 640, 3);
        const auto expected = defined_product(w.view, x);
        for (const CpuTarget target : supported_targets()) {
          Context context(target, 1);
          EXPECT_TRUE(same_bits(multiply(context, w.view, x), expected)) << group << " " << to_string(target);
          EXPECT_TRUE(same_bits(multiply(context, w.view, slice(x, 640, 640)), slice(expected, 37, 37)));
        }
      }
    }
  }
}

TEST(MatmulTasks, OfMixedTypesInOneCallGiveWhatEachGivesAlone) {
  const DType types[] = {DType::kQ4_K, DType::kQ6_K, DType::kF16, DType::kQ8_0};
  std::vector<OwnedMatrix> weights;
  for (const DType type : types) weights.push_back(random_matrix({.type = type, .rows = 100, .cols = 512}));
  for (const int64_t tokens : {1, 9}) {
    const auto x = random_activations(tokens * 512, 8);
    for (const CpuTarget target : supported_targets()) {
      Context context(target, 3);
      std::vector<std::vector<float>> outs(4, std::vector<float>(static_cast<size_t>(tokens * 100)));
      std::vector<MatmulTask> tasks;
      for (size_t i = 0; i < 4; ++i) {
        tasks.push_back({.weight = weights[i].view, .out = outs[i].data(), .out_stride = 100});
      }
      matmul(context, {.x = x.data(), .tokens = tokens, .cols = 512, .stride = 512}, tasks);
      for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(same_bits(outs[i], multiply(context, weights[i].view, x)));
    }
  }
}

TEST(MatmulContexts, RunSideBySideWithoutTouchingEachOther) {
  const OwnedMatrix w = random_matrix({.type = DType::kQ4_K, .rows = 300, .cols = 1024});
  const auto targets = supported_targets();
  std::vector<std::jthread> drivers;
  std::vector<int> wrong(4, 0);
  for (size_t i = 0; i < 4; ++i) {
    drivers.emplace_back([&, i] {
      Context context(targets[i % targets.size()], 2);
      for (int round = 0; round < 10; ++round) {
        const auto x = random_activations((1 + round % 3) * 1024, i * 100 + static_cast<uint64_t>(round));
        wrong[i] += same_bits(multiply(context, w.view, x), defined_product(w.view, x)) ? 0 : 1;
      }
    });
  }
  drivers.clear();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

// -ffp-contract=off is part of the contract. Here scale * code rounds to 3 + 2^-21 before the bias -3 is
// added; a fused multiply-add, which a compiler may form where the flag is missing, would leave 1.5 * 2^-22.
TEST(NumericsContract, NoCompilerFusesAMultiplicationWithAnAddition) {
  const float scale = 1.0f + 0x1p-23f;
  const float bias = -3.0f;
  std::vector<std::byte> codes(16, std::byte{0x33});
  WeightMatrix w{.type = DType::kAffine4,
                 .rows = 1,
                 .cols = 32,
                 .data = codes.data(),
                 .row_stride_bytes = 16,
                 .affine = {}};
  w.affine = {.scales = reinterpret_cast<const std::byte*>(&scale),
              .biases = reinterpret_cast<const std::byte*>(&bias),
              .type = DType::kF32,
              .group_size = 32};
  float row[32];
  decode_row(w, 0, row);
  for (const float value : row) EXPECT_EQ(value, 0x1p-21f);
}

}  // namespace
}  // namespace kvern::compute
