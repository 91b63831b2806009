// Sums of many sets of 16 virtual lanes at once: the tree of lanes-inl.h for each, with the shuffles shared.
#if defined(KVERN_COMPUTE_KERNELS_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_COMPUTE_KERNELS_SUMS_INL_H_
#undef KVERN_COMPUTE_KERNELS_SUMS_INL_H_
#else
#define KVERN_COMPUTE_KERNELS_SUMS_INL_H_
#endif

#include "hwy/highway.h"

#include "compute/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::compute {
namespace HWY_NAMESPACE {
namespace lanes {

/// Sets that are summed together: as many as fit into registers beside the operands of their fma chains.
inline constexpr int kSumBatch = kParts == 1 ? 16 : 4;

#if HWY_TARGET <= HWY_AVX3

// Each step halves the number of registers: two sets are laid side by side, their upper halves are added to
// their lower halves (+8, +4, +2, +1 lanes). The order of the sets is chosen so that lane i of the result is
// set i.
HWY_INLINE __m512 sum_batch(const F32x16* sets) {
  __m512 eight[8];  // [2i, 2i + 1]: 8 lanes each
#pragma GCC unroll 16
  for (int i = 0; i < 8; ++i) {
    // Set 4b + j goes to place 4j + b.
    const __m512 a = sets[4 * (2 * i % 4) + 2 * i / 4].part[0].raw;
    const __m512 b = sets[4 * ((2 * i + 1) % 4) + (2 * i + 1) / 4].part[0].raw;
    eight[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
  }
  __m512 four[4];
#pragma GCC unroll 16
  for (int i = 0; i < 4; ++i) {
    const __m512 a = eight[2 * i];
    const __m512 b = eight[2 * i + 1];
    four[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
  }
  __m512 two[2];
#pragma GCC unroll 16
  for (int i = 0; i < 2; ++i) {
    const __m512d a = _mm512_castps_pd(four[2 * i]);
    const __m512d b = _mm512_castps_pd(four[2 * i + 1]);
    two[i] =
        _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
  }
  return _mm512_add_ps(_mm512_shuffle_ps(two[0], two[1], 0x88), _mm512_shuffle_ps(two[0], two[1], 0xdd));
}

/// sets [kRows][kSumBatch / kRows]: the sums of row r go to out + r * stride.
template <int kRows>
HWY_INLINE void store_sums(const F32x16* sets, float* out, int64_t stride) {
  const __m512 sums = sum_batch(sets);
  if constexpr (kRows == 1) {
    _mm512_storeu_ps(out, sums);
  } else if constexpr (kRows == 2) {
    _mm256_storeu_ps(out, _mm512_castps512_ps256(sums));
    _mm256_storeu_ps(out + stride, _mm512_extractf32x8_ps(sums, 1));
  } else {
    static_assert(kRows == 4);
    _mm_storeu_ps(out, _mm512_castps512_ps128(sums));
    _mm_storeu_ps(out + stride, _mm512_extractf32x4_ps(sums, 1));
    _mm_storeu_ps(out + 2 * stride, _mm512_extractf32x4_ps(sums, 2));
    _mm_storeu_ps(out + 3 * stride, _mm512_extractf32x4_ps(sums, 3));
  }
}

#elif HWY_TARGET == HWY_AVX2

/// sets [kRows][kSumBatch / kRows]: the sums of row r go to out + r * stride.
template <int kRows>
HWY_INLINE void store_sums(const F32x16* sets, float* out, int64_t stride) {
  __m256 eight[4];
#pragma GCC unroll 16
  for (int i = 0; i < 4; ++i) eight[i] = _mm256_add_ps(sets[i].part[0].raw, sets[i].part[1].raw);
  __m256 four[2];  // sets [i | i + 1], 4 lanes each
#pragma GCC unroll 16
  for (int i = 0; i < 2; ++i) {
    const __m256 a = eight[2 * i];
    const __m256 b = eight[2 * i + 1];
    four[i] = _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
  }
  const __m256d a = _mm256_castps_pd(four[0]);
  const __m256d b = _mm256_castps_pd(four[1]);
  // [0 0 2 2 | 1 1 3 3]
  const __m256 two =
      _mm256_add_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(a, b)), _mm256_castpd_ps(_mm256_unpackhi_pd(a, b)));
  const __m256 one = _mm256_add_ps(two, _mm256_permute_ps(two, 0xb1));
  const __m128 sums =
      _mm_unpacklo_ps(_mm_shuffle_ps(_mm256_castps256_ps128(one), _mm256_castps256_ps128(one), 0x08),
                      _mm_shuffle_ps(_mm256_extractf128_ps(one, 1), _mm256_extractf128_ps(one, 1), 0x08));
  if constexpr (kRows == 1) {
    _mm_storeu_ps(out, sums);
  } else if constexpr (kRows == 2) {
    _mm_storel_pi(reinterpret_cast<__m64*>(out), sums);
    _mm_storeh_pi(reinterpret_cast<__m64*>(out + stride), sums);
  } else {
    alignas(16) float buffer[4];
    _mm_store_ps(buffer, sums);
    for (int r = 0; r < 4; ++r) out[r * stride] = buffer[r];
  }
}

#else

/// sets [kRows][kSumBatch / kRows]: the sums of row r go to out + r * stride.
template <int kRows>
HWY_INLINE void store_sums(const F32x16* sets, float* out, int64_t stride) {
  constexpr int kColumns = kSumBatch / kRows;
  for (int i = 0; i < kSumBatch; ++i) out[i / kColumns * stride + i % kColumns] = reduce_sum(sets[i]);
}

#endif

}  // namespace lanes
}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
