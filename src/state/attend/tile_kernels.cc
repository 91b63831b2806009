#include "state/attend/tile_kernels.h"

#include <limits>

#include "compute/kernels/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "state/attend/tile_kernels.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compute/kernels/lanes-inl.h"
#include "compute/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::state {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
namespace lanes = compute::HWY_NAMESPACE::lanes;
namespace math = compute::HWY_NAMESPACE::math;
using lanes::F32x16;
constexpr int64_t kLanes = lanes::kLanes;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

HWY_INLINE F32x16 exp_weights(const F32x16& x) {
  return lanes::make([&](size_t i) HWY_ATTR { return math::exp_weight(x.part[i]); });
}

HWY_INLINE float exp_weight(float x) { return hn::GetLane(math::exp_weight(hn::Set(lanes::Tag(), x))); }

// Softmax of one row; `groups` groups of 16 positions, the last of which may be partly beyond `count`.
HWY_INLINE void softmax_row(float* scores, const TileSoftmax& tile, float& max, float& sum) {
  const int64_t groups = (tile.count + kLanes - 1) / kLanes;
  for (int64_t i = tile.count; i < groups * kLanes; ++i) scores[i] = -kInfinity;
  const F32x16 scale = lanes::set(tile.scale);
  F32x16 best = lanes::set(-kInfinity);
  for (int64_t g = 0; g < groups; ++g) {
    const F32x16 s = lanes::mul(lanes::load(scores + g * kLanes), scale);
    lanes::store(s, scores + g * kLanes);
    best = lanes::max(best, s);
  }
  max = lanes::reduce_max(best);
  const F32x16 m = lanes::set(max);
  F32x16 total = lanes::zero();
  for (int64_t g = 0; g < groups; ++g) {
    const F32x16 weight = exp_weights(lanes::sub(lanes::load(scores + g * kLanes), m));
    lanes::store(weight, scores + g * kLanes);
    total = lanes::add(total, weight);
  }
  sum = lanes::reduce_sum(total);
}

}  // namespace

void tile_softmax(const TileSoftmax& tile) {
  for (int64_t q = 0; q < tile.queries; ++q) {
    softmax_row(tile.scores + q * kTile, tile, tile.max[q], tile.sum[q]);
  }
}

void tile_merge(const Partial& into, const Partial& next, int64_t queries, int64_t width) {
  for (int64_t q = 0; q < queries; ++q) {
    const float old = into.max[q];
    const float add = next.max[q];
    const float max = old > add ? old : add;
    const float keep = exp_weight(old - max);
    const float gain = exp_weight(add - max);
    into.max[q] = max;
    into.sum[q] = __builtin_fmaf(next.sum[q], gain, into.sum[q] * keep);
    const F32x16 a = lanes::set(keep);
    const F32x16 b = lanes::set(gain);
    float* to = into.values + q * width;
    const float* from = next.values + q * width;
    for (int64_t d = 0; d < width; d += kLanes) {
      lanes::store(lanes::fma(lanes::load(from + d), b, lanes::mul(lanes::load(to + d), a)), to + d);
    }
  }
}

void tile_finish(const Partial& from, int64_t dim, float* out) {
  const F32x16 factor = lanes::set(1.0F / from.sum[0]);
  int64_t d = 0;
  for (; d + kLanes <= dim; d += kLanes) {
    lanes::store(lanes::mul(lanes::load(from.values + d), factor), out + d);
  }
  if (d < dim) {
    lanes::store_partial(lanes::mul(lanes::load(from.values + d), factor), out + d,
                         static_cast<size_t>(dim - d));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::state {
namespace {

constexpr auto kSoftmax = KVERN_TARGET_TABLE(tile_softmax);
constexpr auto kMerge = KVERN_TARGET_TABLE(tile_merge);
constexpr auto kFinish = KVERN_TARGET_TABLE(tile_finish);

}  // namespace

TileKernels tile_kernels(compute::CpuTarget target) {
  return {kSoftmax[target], kMerge[target], kFinish[target]};
}

}  // namespace kvern::state
#endif  // HWY_ONCE
