#include "state/codec/rotation.h"

#include <numeric>

#include "state/codec/stored_vectors.h"

namespace kvern::state {
namespace {

constexpr Rotation kRotations[] = {Rotation::kHadamard, Rotation::kSignedHadamard};

TEST(Rotation, HasTheBitsOfTheDefinitionOnEveryTarget) {
  for (const Rotation rotation : kRotations) {
    for (const int64_t dim : {1, 2, 8, 12, 20, 32, 48, 64, 80, 96, 128, 192, 256, 512}) {
      if (!takes(rotation, dim)) continue;
      const int64_t stride = dim + 5;
      const std::vector<float> x = test::normal_floats(3 * stride, 3.0F);
      for (const compute::CpuTarget target : test::supported_targets()) {
        const RotationKernels kernels = rotation_kernels(rotation, target);
        std::vector<float> got = x;
        kernels.forward({got.data(), 3, stride, dim});
        std::vector<float> want = x;
        for (int64_t i = 0; i < 3; ++i) {
          reference::rotate(rotation, {want.data() + i * stride, static_cast<size_t>(dim)});
        }
        ASSERT_EQ(got, want) << "dim " << dim << " on " << compute::to_string(target);
        kernels.inverse({got.data(), 3, stride, dim});
        for (int64_t i = 0; i < 3; ++i) {
          reference::unrotate(rotation, {want.data() + i * stride, static_cast<size_t>(dim)});
        }
        ASSERT_EQ(got, want) << "dim " << dim << " on " << compute::to_string(target);
      }
    }
  }
}

TEST(Rotation, KeepsLengthsAndIsUndoneByItsInverse) {
  for (const Rotation rotation : kRotations) {
    for (const int64_t dim : {64, 128, 256}) {
      const std::vector<float> x = test::normal_floats(dim);
      std::vector<float> y = x;
      const RotationKernels kernels = rotation_kernels(rotation, *compute::best_target());
      kernels.forward({y.data(), 1, dim, dim});
      EXPECT_NEAR(std::inner_product(y.begin(), y.end(), y.begin(), 0.0),
                  std::inner_product(x.begin(), x.end(), x.begin(), 0.0), 1e-3);
      EXPECT_NE(x, y);
      kernels.inverse({y.data(), 1, dim, dim});
      for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], x[i], 1e-5);
    }
  }
}

TEST(Rotation, SpreadsAnOutlierOverItsBlock) {
  // 96 = 3 blocks of 32.
  std::vector<float> x(96, 0.0F);
  x[37] = 8.0F;
  rotation_kernels(Rotation::kHadamard, *compute::best_target()).forward({x.data(), 1, 96, 96});
  for (size_t i = 0; i < 96; ++i) {
    EXPECT_NEAR(std::abs(x[i]), i / 32 == 1 ? 8.0F / std::sqrt(32.0F) : 0.0F, 1e-6);
  }
}

TEST(Rotation, ExistsForTheHeadSizesThatItNames) {
  EXPECT_TRUE(takes(Rotation::kNone, 7));
  EXPECT_TRUE(takes(Rotation::kHadamard, 96));
  EXPECT_TRUE(takes(Rotation::kSignedHadamard, 64));
  EXPECT_TRUE(takes(Rotation::kSignedHadamard, 512));
  EXPECT_FALSE(takes(Rotation::kSignedHadamard, 96));
  EXPECT_FALSE(takes(Rotation::kSignedHadamard, 1024));
}

}  // namespace
}  // namespace kvern::state
