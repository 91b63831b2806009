// Fast Walsh-Hadamard transform: for h = 1, 2, 4, … below the block size, pairs that are h apart become their
// sum and their difference; one factor at the end.
#include "state/codec/rotation.h"

#include <cmath>

#include "base/check.h"
#include "compute/kernels/dispatch.h"
#include "state/codec/turbo/signs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "state/codec/rotation.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compute/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::state {
namespace HWY_NAMESPACE {
namespace rotation {

namespace hn = hwy::HWY_NAMESPACE;
namespace lanes = compute::HWY_NAMESPACE::lanes;
using lanes::F32x16;
constexpr int64_t kLanes = lanes::kLanes;
constexpr auto kWidth = static_cast<int32_t>(lanes::kWidth);

/// Pairs within one register: lane l gets x[l ^ h] + x[l] where l has no bit h, x[l ^ h] - x[l] where it has.
HWY_INLINE hn::Vec<lanes::Tag> pair_lanes(hn::Vec<lanes::Tag> x, int32_t h) {
  const lanes::Tag df;
  const lanes::IntTag di;
  const auto lane = hn::Iota(di, 0);
  const auto partner = hn::TableLookupLanes(x, hn::IndicesFromVec(df, hn::Xor(lane, hn::Set(di, h))));
  const auto upper = hn::Ne(hn::And(lane, hn::Set(di, h)), hn::Zero(di));
  const auto sign = hn::IfThenElseZero(upper, hn::Set(di, INT32_MIN));
  return hn::Add(partner, hn::Xor(x, hn::BitCast(df, sign)));
}

/// Stages h = 1, 2, 4, 8 below `block` of 16 numbers.
HWY_INLINE F32x16 pair_inside(F32x16 x, int64_t block) {
  const auto limit = static_cast<int32_t>(block < kLanes ? block : kLanes);
  for (int32_t h = 1; h < limit; h *= 2) {
    if (h < kWidth) {
      for (size_t i = 0; i < lanes::kParts; ++i) x.part[i] = pair_lanes(x.part[i], h);
      continue;
    }
    const auto step = static_cast<size_t>(h / kWidth);
    for (size_t i = 0; i < lanes::kParts; ++i) {
      if ((i & step) != 0) continue;
      const auto a = x.part[i];
      const auto b = x.part[i + step];
      x.part[i] = hn::Add(a, b);
      x.part[i + step] = hn::Sub(a, b);
    }
  }
  return x;
}

/// Stages h = 16, 32, … of one vector.
HWY_INLINE void pair_across(float* x, int64_t dim, int64_t block) {
  for (int64_t h = kLanes; h < block; h *= 2) {
    for (int64_t i = 0; i < dim; i += 2 * h) {
      for (int64_t j = i; j < i + h; j += kLanes) {
        const F32x16 a = lanes::load(x + j);
        const F32x16 b = lanes::load(x + j + h);
        lanes::store(lanes::add(a, b), x + j);
        lanes::store(lanes::sub(a, b), x + j + h);
      }
    }
  }
}

/// x * sign, sixteen numbers from a multiple of 16 on.
HWY_INLINE F32x16 flip(const F32x16& x, const uint32_t* signs, int64_t at) {
  const lanes::Tag df;
  const lanes::IntTag di;
  const auto bits = static_cast<int32_t>(signs[at / 32] >> at % 32 & 0xffffU);
  F32x16 r;
  for (size_t i = 0; i < lanes::kParts; ++i) {
    const auto lane = hn::Iota(di, static_cast<int32_t>(i) * kWidth);
    const auto mine = hn::And(hn::Set(di, bits), hn::Shl(hn::Set(di, 1), lane));
    const auto minus = hn::Eq(mine, hn::Zero(di));
    r.part[i] = hn::Xor(x.part[i], hn::BitCast(df, hn::IfThenElseZero(minus, hn::Set(di, INT32_MIN))));
  }
  return r;
}

/// When the signs apply.
enum class Signs { kNone, kBefore, kAfter };

template <Signs kSigns>
void transform(const RotateTask& task) {
  const int64_t dim = task.dim;
  const int64_t block = dim & -dim;
  const auto factor = static_cast<float>(1.0 / std::sqrt(static_cast<double>(block)));
  const uint32_t* signs = turbo::signs(dim).data();
  for (int64_t i = 0; i < task.count; ++i) {
    float* x = task.x + i * task.stride;
    int64_t d = 0;
    for (; d + kLanes <= dim; d += kLanes) {
      F32x16 v = lanes::load(x + d);
      if constexpr (kSigns == Signs::kBefore) v = flip(v, signs, d);
      lanes::store(pair_inside(v, block), x + d);
    }
    // Then blocks are shorter than 16, and the zeros beyond stay among themselves.
    const auto rest = static_cast<size_t>(dim - d);
    if (rest > 0) lanes::store_partial(pair_inside(lanes::load_partial(x + d, rest), block), x + d, rest);
    pair_across(x, dim, block);
    for (d = 0; d + kLanes <= dim; d += kLanes) {
      F32x16 v = lanes::mul(lanes::load(x + d), lanes::set(factor));
      if constexpr (kSigns == Signs::kAfter) v = flip(v, signs, d);
      lanes::store(v, x + d);
    }
    for (; d < dim; ++d) x[d] *= factor;
  }
}

}  // namespace rotation

void hadamard(const RotateTask& task) { rotation::transform<rotation::Signs::kNone>(task); }
void signs_then_hadamard(const RotateTask& task) { rotation::transform<rotation::Signs::kBefore>(task); }
void hadamard_then_signs(const RotateTask& task) { rotation::transform<rotation::Signs::kAfter>(task); }

}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::state {
namespace {

constexpr auto kHadamard = KVERN_TARGET_TABLE(hadamard);
constexpr auto kSignsThenHadamard = KVERN_TARGET_TABLE(signs_then_hadamard);
constexpr auto kHadamardThenSigns = KVERN_TARGET_TABLE(hadamard_then_signs);

}  // namespace

bool takes(Rotation rotation, int64_t dim) {
  switch (rotation) {
    case Rotation::kNone:
      return true;
    case Rotation::kHadamard:
      return dim > 0;
    case Rotation::kSignedHadamard:
      return !turbo::signs(dim).empty();
  }
  return false;
}

RotationKernels rotation_kernels(Rotation rotation, compute::CpuTarget target) {
  KVERN_CHECK(rotation != Rotation::kNone);
  // H is symmetric and orthonormal, so it is its own inverse.
  if (rotation == Rotation::kHadamard) return {kHadamard[target], kHadamard[target]};
  return {kSignsThenHadamard[target], kHadamardThenSigns[target]};
}

}  // namespace kvern::state
#endif  // HWY_ONCE
