// Codes of TurboQuant's values from numbers and back, by the tables of tables.h.
#if defined(KVERN_STATE_CODEC_TURBO_LOOKUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_STATE_CODEC_TURBO_LOOKUP_INL_H_
#undef KVERN_STATE_CODEC_TURBO_LOOKUP_INL_H_
#else
#define KVERN_STATE_CODEC_TURBO_LOOKUP_INL_H_
#endif

#include "hwy/highway.h"

#include "compute/kernels/lanes-inl.h"
#include "state/codec/turbo/tables.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::state {
namespace HWY_NAMESPACE {
namespace lookup {
namespace hn = hwy::HWY_NAMESPACE;
namespace lanes = compute::HWY_NAMESPACE::lanes;
using state::turbo::kTable;
using IntVector = hn::Vec<lanes::IntTag>;
using FloatVector = hn::Vec<lanes::Tag>;

/// The number of boundaries below each of the numbers: by halving for the long table, by counting else.
template <int kBits>
HWY_INLINE IntVector boundaries_below(FloatVector x) {
  const lanes::Tag df;
  const lanes::IntTag di;
  const float* boundaries = kTable<kBits>.boundaries.data();
  IntVector code = hn::Zero(di);
  if constexpr (kBits == 8) {
    for (int half = 128; half > 0; half /= 2) {
      const IntVector tried = hn::Add(code, hn::Set(di, half));
      const auto boundary = hn::GatherIndex(df, boundaries, hn::Sub(tried, hn::Set(di, 1)));
      code = hn::IfThenElse(hn::RebindMask(di, hn::Lt(boundary, x)), tried, code);
    }
  } else {
    for (size_t i = 0; i < kTable<kBits>.boundaries.size(); ++i) {
      const auto below = hn::RebindMask(di, hn::Lt(hn::Set(df, boundaries[i]), x));
      code = hn::Add(code, hn::IfThenElseZero(below, hn::Set(di, 1)));
    }
  }
  return code;
}

template <int kBits>
HWY_INLINE void store_boundaries_below(const lanes::F32x16& x, uint8_t* codes) {
  const hn::Rebind<uint8_t, lanes::IntTag> narrow;
#pragma GCC unroll 4
  for (size_t i = 0; i < lanes::kParts; ++i) {
    hn::StoreU(hn::DemoteTo(narrow, boundaries_below<kBits>(x.part[i])), narrow, codes + i * lanes::kWidth);
  }
}

template <int kBits>
HWY_INLINE FloatVector centroid(IntVector code) {
  const lanes::Tag df;
  const float* table = kTable<kBits>.centroids.data();
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kBits <= 4) {
    constexpr __mmask16 kPresent = (1U << (1U << kBits)) - 1;
    return FloatVector{_mm512_permutexvar_ps(code.raw, _mm512_maskz_loadu_ps(kPresent, table))};
  } else if constexpr (kBits == 5) {
    const __m512 low = _mm512_loadu_ps(table);
    return FloatVector{_mm512_permutex2var_ps(low, code.raw, _mm512_loadu_ps(table + 16))};
  }
#elif HWY_TARGET == HWY_AVX2
  if constexpr (kBits <= 3) {
    alignas(32) static constexpr auto kEight = [] {
      std::array<float, 8> eight{};
      for (size_t i = 0; i < eight.size(); ++i) eight[i] = kTable<kBits>.centroids[i % (1U << kBits)];
      return eight;
    }();
    return FloatVector{_mm256_permutevar8x32_ps(_mm256_load_ps(kEight.data()), code.raw)};
  }
#endif
  return hn::GatherIndex(df, table, code);
}

/// What sixteen codes stand for.
template <int kBits>
HWY_INLINE lanes::F32x16 centroids(const uint8_t* codes) {
  const hn::Rebind<uint8_t, lanes::IntTag> narrow;
  lanes::F32x16 r;
#pragma GCC unroll 4
  for (size_t i = 0; i < lanes::kParts; ++i) {
    const auto v = hn::PromoteTo(lanes::IntTag(), hn::LoadU(narrow, codes + i * lanes::kWidth));
    r.part[i] = centroid<kBits>(v);
  }
  return r;
}

}  // namespace lookup
}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
