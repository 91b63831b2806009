// Products with MLX affine weights: each weight becomes the f32 that decode_row() gives, scale * code + bias
// with two roundings, and is then multiplied like a plain one: sixteen partial sums by column mod 16, then
// the tree of lanes-inl.h. Included by matmul_plain.cc.
#if defined(KVERN_COMPUTE_KERNELS_MATMUL_AFFINE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_COMPUTE_KERNELS_MATMUL_AFFINE_INL_H_
#undef KVERN_COMPUTE_KERNELS_MATMUL_AFFINE_INL_H_
#else
#define KVERN_COMPUTE_KERNELS_MATMUL_AFFINE_INL_H_
#endif

#include "hwy/highway.h"

#include <cstddef>
#include <cstdint>

#include "compute/kernels/lanes-inl.h"
#include "compute/kernels/matmul_rows.h"
#include "compute/kernels/weights/affine.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::compute {
namespace HWY_NAMESPACE {
namespace matmul_affine_detail {
namespace hn = hwy::HWY_NAMESPACE;

using internal::Prefetch;
using weights::RowSource;

/// Sixteen bytes as numbers.
HWY_INLINE lanes::F32x16 load_byte_codes(const uint8_t* codes) {
  const hn::Rebind<uint8_t, lanes::Tag> bytes;
  return lanes::make([&](size_t i) HWY_ATTR {
    const auto wide = hn::PromoteTo(lanes::IntTag(), hn::LoadU(bytes, codes + i * lanes::kWidth));
    return hn::ConvertTo(lanes::Tag(), wide);
  });
}

HWY_INLINE lanes::F32x16 scale_and_bias(float scale, const lanes::F32x16& codes, float bias) {
  return lanes::add(lanes::mul(lanes::set(scale), codes), lanes::set(bias));
}

/// The weights of one group of columns of a row.
template <int kBits>
struct Group {
  float scale;
  float bias;

  HWY_INLINE Group(float group_scale, float group_bias) : scale(group_scale), bias(group_bias) {}

  /// Sixteen weights whose codes begin at `codes`.
  HWY_INLINE lanes::F32x16 weights(const uint8_t* codes) const {
    if constexpr (kBits == 8) {
      return scale_and_bias(scale, load_byte_codes(codes), bias);
    } else {
      const hn::Full64<uint8_t> half;
      const hn::Full128<uint8_t> whole;
      const auto packed = hn::LoadU(half, codes);
      const auto even = hn::ZeroExtendVector(whole, hn::And(packed, hn::Set(half, uint8_t{15})));
      const auto odd = hn::ZeroExtendVector(whole, hn::ShiftRight<4>(packed));
      HWY_ALIGN uint8_t bytes[16];
      hn::Store(hn::InterleaveLower(whole, even, odd), whole, bytes);
      return scale_and_bias(scale, load_byte_codes(bytes), bias);
    }
  }
};

#if HWY_TARGET <= HWY_AVX3
/// A group has only sixteen different weights: they are computed once and looked up.
template <>
struct Group<4> {
  __m512 table;

  HWY_INLINE Group(float scale, float bias) {
    HWY_ALIGN static constexpr float kCodes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    table = scale_and_bias(scale, lanes::load(kCodes), bias).part[0].raw;
  }

  HWY_INLINE lanes::F32x16 weights(const uint8_t* codes) const {
    int64_t packed;
    __builtin_memcpy(&packed, codes, sizeof packed);
    // Byte i / 2 in the low byte of lane i; the lookup heeds four bits of each lane only.
    const __m512i spread = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    const __m512i shift = _mm512_set1_epi64(int64_t{4} << 32);
    const __m512i index = _mm512_srlv_epi32(_mm512_shuffle_epi8(_mm512_set1_epi64(packed), spread), shift);
    lanes::F32x16 result;
    result.part[0] = hn::Vec<lanes::Tag>(_mm512_permutexvar_ps(index, table));
    return result;
  }
};
#endif

/// weights::load_parameter() with the conversion that the processor has.
HWY_INLINE float load_parameter(const uint8_t* array, DType type, int64_t index) {
#if HWY_ARCH_X86
  if (type == DType::kF16) {
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(weights::load_u16(array + 2 * index))));
  }
#endif
  return weights::load_parameter(array, type, index);
}

template <int kBits>
HWY_INLINE Group<kBits> group_of(const RowSource& row, int64_t group) {
  return Group<kBits>(load_parameter(row.scales, row.parameter_type, group),
                      load_parameter(row.biases, row.parameter_type, group));
}

/// The part of R rows' sums that one group of columns, whose activations begin at `x`, adds.
template <int kBits, int R>
HWY_INLINE void add_group(const RowSource* rows, int64_t group, const float* x, lanes::F32x16 (&sums)[R]) {
  const int64_t width = rows[0].group_units * weights::kUnit;
  const int64_t offset = group * width * kBits / 8;
  const auto step = [&](auto&& of_row) HWY_ATTR {
    for (int64_t k = 0; k < width; k += 16) {
      const lanes::F32x16 values = lanes::load(x + k);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        const uint8_t* codes = rows[r].data + offset + k * kBits / 8;
        sums[r] = lanes::fma(of_row(r).weights(codes), values, sums[r]);
      }
    }
  };
  if constexpr (R == 1) {
    const Group<kBits> one = group_of<kBits>(rows[0], group);
    step([&](int) HWY_ATTR { return one; });
  } else if constexpr (R == 2) {
    const Group<kBits> two[2] = {group_of<kBits>(rows[0], group), group_of<kBits>(rows[1], group)};
    step([&](int r) HWY_ATTR { return two[r]; });
  } else {
    static_assert(R == 4);
    const Group<kBits> four[4] = {group_of<kBits>(rows[0], group), group_of<kBits>(rows[1], group),
                                  group_of<kBits>(rows[2], group), group_of<kBits>(rows[3], group)};
    step([&](int r) HWY_ATTR { return four[r]; });
  }
}

/// R rows times one token: out [R].
template <int kBits, int R>
HWY_NOINLINE void multiply_rows(const RowSource* rows, const float* x, int64_t cols, Prefetch& prefetch,
                                float* out) {
  const int64_t width = rows[0].group_units * weights::kUnit;
  lanes::F32x16 sums[R];
  for (int r = 0; r < R; ++r) sums[r] = lanes::zero();
  for (int64_t first = 0; first < cols; first += width) {
    add_group<kBits, R>(rows, first / width, x + first, sums);
    prefetch.step();
  }
  for (int r = 0; r < R; ++r) out[r] = lanes::reduce_sum(sums[r]);
}

/// One row as f32 [cols].
template <int kBits>
HWY_NOINLINE void decode(const RowSource& row, int64_t cols, float* out) {
  const int64_t width = row.group_units * weights::kUnit;
  const uint8_t* codes = row.data;
  for (int64_t first = 0; first < cols; first += width) {
    const Group<kBits> group = group_of<kBits>(row, first / width);
    for (int64_t k = 0; k < width; k += 16, codes += 2 * kBits) {
      lanes::store(group.weights(codes), out + first + k);
    }
  }
}

}  // namespace matmul_affine_detail
}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
