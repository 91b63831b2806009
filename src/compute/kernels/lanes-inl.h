// Sixteen virtual lanes of f32 on every instruction set: the unit in which all reductions are written, so
// that AVX2 (two registers), AVX-512 (one) and NEON (four) add the same numbers in the same order.
//
// The tree of every horizontal sum, for lanes 0..15:
//   lane i += lane i + 8   (i = 0..7)
//   lane i += lane i + 4   (i = 0..3)
//   lane i += lane i + 2   (i = 0..1)
//   result  = lane 0 + lane 1
// reduce_max uses the same tree (the order matters for NaN and for signed zeros only).
//
// Every arithmetic helper is one IEEE operation per lane, rounded to nearest even; fma rounds once. Included
// by kernel files inside their own foreach_target cycle, after hwy/highway.h.
#if defined(KVERN_COMPUTE_KERNELS_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_COMPUTE_KERNELS_LANES_INL_H_
#undef KVERN_COMPUTE_KERNELS_LANES_INL_H_
#else
#define KVERN_COMPUTE_KERNELS_LANES_INL_H_
#endif

#include "hwy/highway.h"

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace kvern::compute {
namespace HWY_NAMESPACE {
namespace lanes {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr size_t kLanes = 16;
using Tag = hn::CappedTag<float, kLanes>;
using IntTag = hn::RebindToSigned<Tag>;
using Vector = hn::Vec<Tag>;
inline constexpr size_t kWidth = hn::MaxLanes(Tag());  ///< f32 lanes of one register
inline constexpr size_t kParts = kLanes / kWidth;      ///< registers that hold the 16 lanes

/// 16 f32 lanes; lane i is element i % kWidth of part i / kWidth.
struct F32x16 {
  Vector part[kParts];
};

// Calls `f(i)` for each register index and collects the results.
template <typename F>
HWY_INLINE F32x16 make(F f) {
  F32x16 r;
#pragma GCC unroll 4
  for (size_t i = 0; i < kParts; ++i) r.part[i] = f(i);
  return r;
}

HWY_INLINE F32x16 set(float value) {
  return make([&](size_t) HWY_ATTR { return hn::Set(Tag(), value); });
}
HWY_INLINE F32x16 zero() { return set(0.0f); }

/// 16 floats from any address (`load_bytes`: of bytes that need not be aligned to a float).
HWY_INLINE F32x16 load(const float* p) {
  return make([&](size_t i) HWY_ATTR { return hn::LoadU(Tag(), p + i * kWidth); });
}
HWY_INLINE F32x16 load_bytes(const void* p) {
  const hn::Repartition<uint8_t, Tag> bytes;
  const auto* q = static_cast<const uint8_t*>(p);
  return make([&](size_t i) HWY_ATTR { return hn::BitCast(Tag(), hn::LoadU(bytes, q + 4 * i * kWidth)); });
}
HWY_INLINE void store(const F32x16& a, float* p) {
  for (size_t i = 0; i < kParts; ++i) hn::StoreU(a.part[i], Tag(), p + i * kWidth);
}

/// The first `count` <= 16 floats; lanes beyond are 0. Reads nothing beyond.
HWY_INLINE F32x16 load_partial(const float* p, size_t count) {
  HWY_ALIGN float buffer[kLanes] = {};
  for (size_t i = 0; i < count; ++i) buffer[i] = p[i];
  return load(buffer);
}
HWY_INLINE F32x16 load_bytes_partial(const void* p, size_t count) {
  HWY_ALIGN float buffer[kLanes] = {};
  __builtin_memcpy(buffer, p, 4 * count);
  return load(buffer);
}
/// Writes the first `count` <= 16 lanes only.
HWY_INLINE void store_partial(const F32x16& a, float* p, size_t count) {
  HWY_ALIGN float buffer[kLanes];
  store(a, buffer);
  for (size_t i = 0; i < count; ++i) p[i] = buffer[i];
}

/// 16 half-precision values from any address (two bytes each, little-endian), exactly.
HWY_INLINE F32x16 load_f16(const void* p) {
  const hn::Rebind<hwy::float16_t, Tag> half;
  const hn::Rebind<uint16_t, Tag> bits;
  const auto* q = static_cast<const uint8_t*>(p);
  return make([&](size_t i) HWY_ATTR {
    const auto v = hn::LoadU(bits, reinterpret_cast<const uint16_t*>(q + 2 * i * kWidth));
    return hn::PromoteTo(Tag(), hn::BitCast(half, v));
  });
}
/// 16 bfloat16 values from any address, exactly: the upper halves of f32 bits.
HWY_INLINE F32x16 load_bf16(const void* p) {
  const hn::Rebind<uint16_t, Tag> bits;
  const hn::RebindToUnsigned<Tag> wide;
  const auto* q = static_cast<const uint8_t*>(p);
  return make([&](size_t i) HWY_ATTR {
    const auto v = hn::LoadU(bits, reinterpret_cast<const uint16_t*>(q + 2 * i * kWidth));
    return hn::BitCast(Tag(), hn::ShiftLeft<16>(hn::PromoteTo(wide, v)));
  });
}
/// The first `count` <= 16 values; lanes beyond are 0.
HWY_INLINE F32x16 load_f16_partial(const void* p, size_t count) {
  HWY_ALIGN uint16_t buffer[kLanes] = {};
  __builtin_memcpy(buffer, p, 2 * count);
  return load_f16(buffer);
}
HWY_INLINE F32x16 load_bf16_partial(const void* p, size_t count) {
  HWY_ALIGN uint16_t buffer[kLanes] = {};
  __builtin_memcpy(buffer, p, 2 * count);
  return load_bf16(buffer);
}

HWY_INLINE F32x16 add(const F32x16& a, const F32x16& b) {
  return make([&](size_t i) HWY_ATTR { return hn::Add(a.part[i], b.part[i]); });
}
HWY_INLINE F32x16 sub(const F32x16& a, const F32x16& b) {
  return make([&](size_t i) HWY_ATTR { return hn::Sub(a.part[i], b.part[i]); });
}
HWY_INLINE F32x16 mul(const F32x16& a, const F32x16& b) {
  return make([&](size_t i) HWY_ATTR { return hn::Mul(a.part[i], b.part[i]); });
}
HWY_INLINE F32x16 div(const F32x16& a, const F32x16& b) {
  return make([&](size_t i) HWY_ATTR { return hn::Div(a.part[i], b.part[i]); });
}
/// a * b + c, rounded once.
HWY_INLINE F32x16 fma(const F32x16& a, const F32x16& b, const F32x16& c) {
  return make([&](size_t i) HWY_ATTR { return hn::MulAdd(a.part[i], b.part[i], c.part[i]); });
}
HWY_INLINE F32x16 max(const F32x16& a, const F32x16& b) {
  return make([&](size_t i) HWY_ATTR { return hn::Max(a.part[i], b.part[i]); });
}
HWY_INLINE F32x16 min(const F32x16& a, const F32x16& b) {
  return make([&](size_t i) HWY_ATTR { return hn::Min(a.part[i], b.part[i]); });
}
HWY_INLINE F32x16 abs(const F32x16& a) {
  return make([&](size_t i) HWY_ATTR { return hn::Abs(a.part[i]); });
}

// One register's worth of the tree: folds `a` over its own lanes with `op`, the upper half onto the lower
// half until one lane is left.
template <typename Op>
HWY_INLINE float fold_register(Vector a, Op op) {
#if HWY_TARGET != HWY_NEON
  const hn::Full128<float> quarter;
#if HWY_MAX_BYTES == 64
  const hn::Full256<float> half;
  const auto eight = op(half, hn::LowerHalf(half, a), hn::UpperHalf(half, a));
  const auto four = op(quarter, hn::LowerHalf(quarter, eight), hn::UpperHalf(quarter, eight));
#else
  const auto four = op(quarter, hn::LowerHalf(quarter, a), hn::UpperHalf(quarter, a));
#endif
#else
  const Tag quarter;
  const auto four = a;
#endif
  const auto two = op(quarter, four, hn::Shuffle1032(four));
  return hn::GetLane(op(quarter, two, hn::Shuffle2301(two)));
}

template <typename Op>
HWY_INLINE float fold(const F32x16& a, Op op) {
  if constexpr (kParts == 1) {
    return fold_register(a.part[0], op);
  } else if constexpr (kParts == 2) {
    return fold_register(op(Tag(), a.part[0], a.part[1]), op);
  } else {
    const auto low = op(Tag(), a.part[0], a.part[2]);
    const auto high = op(Tag(), a.part[1], a.part[3]);
    return fold_register(op(Tag(), low, high), op);
  }
}

/// The sum of the 16 lanes by the tree at the top of this file.
HWY_INLINE float reduce_sum(const F32x16& a) {
  return fold(a, [](auto, auto x, auto y) HWY_ATTR { return hn::Add(x, y); });
}
/// The largest lane. Lanes must not be NaN.
HWY_INLINE float reduce_max(const F32x16& a) {
  return fold(a, [](auto, auto x, auto y) HWY_ATTR { return hn::Max(x, y); });
}

}  // namespace lanes
}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
