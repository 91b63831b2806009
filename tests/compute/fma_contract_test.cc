// The build keeps its part of docs/numerics.md: no multiplication and addition is fused unless the source
// says so.
#include <bit>
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kvern::compute {
namespace {

// (1 + 2^-12)^2 - 1 is 2^-11 + 2^-24 exactly, and 2^-11 when the square is rounded first.
constexpr float kNearOne = 1.0F + 0x1p-12F;

// Not inlined and on volatile inputs, so that nothing is computed by the compiler.
[[gnu::noinline]] float plain(float a, float b, float c) { return a * b + c; }

TEST(FmaContract, PlainExpressionsRoundTwice) {
  const volatile float x = kNearOne;
  EXPECT_EQ(plain(x, x, -1.0F), 0x1p-11F) << "the compiler fused a * b + c: -ffp-contract=off is missing";
}

TEST(FmaContract, FmaRoundsOnce) {
  const volatile float x = kNearOne;
  EXPECT_EQ(std::fmaf(x, x, -1.0F), 0x1p-11F + 0x1p-24F);
}

#if defined(__x86_64__)
[[gnu::noinline]] __m256 by_intrinsics(__m256 a, __m256 c) { return _mm256_add_ps(_mm256_mul_ps(a, a), c); }

TEST(FmaContract, SeparateIntrinsicsStaySeparate) {
  const volatile float x = kNearOne;
  const __m256 sum = by_intrinsics(_mm256_set1_ps(x), _mm256_set1_ps(-1.0F));
  EXPECT_EQ(_mm256_cvtss_f32(sum), 0x1p-11F);
}
#endif

TEST(FmaContract, SubnormalsAreKept) {
  const volatile float x = 0x1p-126F;
  EXPECT_EQ(std::bit_cast<uint32_t>(x * 0.5F), 0x00400000U) << "flush-to-zero is on";
}

}  // namespace
}  // namespace kvern::compute
