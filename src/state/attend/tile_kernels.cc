#include "state/attend/tile_kernels.h"

#include <algorithm>
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

HWY_INLINE F32x16 tanh(const F32x16& x) {
  return lanes::make([&](size_t i) HWY_ATTR { return math::tanh(x.part[i]); });
}

template <bool kCapped>
HWY_INLINE F32x16 logit(const float* scores, const Logits& logits) {
  const F32x16 s = lanes::mul(lanes::load(scores), lanes::set(logits.scale));
  if constexpr (!kCapped) return s;
  const F32x16 bent =
      lanes::mul(lanes::set(logits.softcap), tanh(lanes::mul(s, lanes::set(1.0F / logits.softcap))));
  // A position that is not seen stays at -infinity.
  return lanes::make([&](size_t i) HWY_ATTR {
    const auto unseen = hn::Eq(s.part[i], hn::Set(lanes::Tag(), -kInfinity));
    return hn::IfThenElse(unseen, s.part[i], bent.part[i]);
  });
}

// Softmax of one row of `count` positions.
template <bool kCapped>
HWY_INLINE void softmax_row(float* scores, int64_t count, const Logits& logits, float& max, float& sum) {
  const int64_t groups = (count + kLanes - 1) / kLanes;
  for (int64_t i = count; i < groups * kLanes; ++i) scores[i] = -kInfinity;
  F32x16 best = lanes::set(-kInfinity);
  for (int64_t g = 0; g < groups; ++g) {
    const F32x16 s = logit<kCapped>(scores + g * kLanes, logits);
    if constexpr (kCapped) lanes::store(s, scores + g * kLanes);
    best = lanes::max(best, s);
  }
  max = lanes::reduce_max(best);
  const F32x16 m = lanes::set(max);
  const Logits done{.scale = kCapped ? 1.0F : logits.scale};
  F32x16 total = lanes::zero();
  for (int64_t g = 0; g < groups; ++g) {
    const F32x16 weight = exp_weights(lanes::sub(logit<false>(scores + g * kLanes, done), m));
    lanes::store(weight, scores + g * kLanes);
    total = lanes::add(total, weight);
  }
  sum = lanes::reduce_sum(total);
}

// As softmax_row without a cap for kRows whole tiles, side by side: each waits long for its own reductions.
template <int kRows>
HWY_INLINE void softmax_whole(float* scores, const Logits& logits, float* max, float* sum) {
  constexpr int kGroups = static_cast<int>(kTile / kLanes);
  const F32x16 scale = lanes::set(logits.scale);
  F32x16 s[kRows][kGroups];
  F32x16 m[kRows];
  for (int r = 0; r < kRows; ++r) {
    F32x16 best = lanes::set(-kInfinity);
    for (int g = 0; g < kGroups; ++g) {
      s[r][g] = lanes::mul(lanes::load(scores + r * kTile + g * kLanes), scale);
      best = lanes::max(best, s[r][g]);
    }
    max[r] = lanes::reduce_max(best);
    m[r] = lanes::set(max[r]);
  }
  F32x16 total[kRows];
  for (int r = 0; r < kRows; ++r) total[r] = lanes::zero();
  for (int g = 0; g < kGroups; ++g) {
    for (int r = 0; r < kRows; ++r) {
      const F32x16 weight = exp_weights(lanes::sub(s[r][g], m[r]));
      lanes::store(weight, scores + r * kTile + g * kLanes);
      total[r] = lanes::add(total[r], weight);
    }
  }
  for (int r = 0; r < kRows; ++r) sum[r] = lanes::reduce_sum(total[r]);
}

}  // namespace

void tile_softmax(const TileSoftmax& tile) {
  int64_t first = 0;
  if constexpr (lanes::kParts == 1) {
    const auto whole = [](int32_t count) { return count == kTile; };
    if (tile.logits.softcap == 0.0F && std::all_of(tile.counts, tile.counts + tile.queries, whole)) {
      const auto rows = [&]<int kRows>() HWY_ATTR {
        for (; first + kRows <= tile.queries; first += kRows) {
          softmax_whole<kRows>(tile.scores + first * kTile, tile.logits, tile.out.max + first,
                               tile.out.sum + first);
        }
      };
      rows.template operator()<4>();
      rows.template operator()<2>();
    }
  }
  for (int64_t q = first; q < tile.queries; ++q) {
    float* scores = tile.scores + q * kTile;
    if (tile.logits.softcap == 0.0F) {
      softmax_row<false>(scores, tile.counts[q], tile.logits, tile.out.max[q], tile.out.sum[q]);
    } else {
      softmax_row<true>(scores, tile.counts[q], tile.logits, tile.out.max[q], tile.out.sum[q]);
    }
  }
}

void tile_join(const SoftmaxState& into, const SoftmaxState& next, int64_t queries,
               const MergeFactors& factors) {
  const lanes::Tag tag;
  for (int64_t q = 0; q < queries; q += static_cast<int64_t>(lanes::kWidth)) {
    const auto present = hn::FirstN(tag, static_cast<size_t>(queries - q));
    const auto old = hn::MaskedLoad(present, tag, into.max + q);
    const auto add = hn::MaskedLoad(present, tag, next.max + q);
    const auto max = hn::Max(old, add);
    const auto keep = math::exp_weight(hn::Sub(old, max));
    const auto gain = math::exp_weight(hn::Sub(add, max));
    const auto kept = hn::Mul(hn::MaskedLoad(present, tag, into.sum + q), keep);
    const auto sum = hn::MulAdd(hn::MaskedLoad(present, tag, next.sum + q), gain, kept);
    hn::BlendedStore(max, present, tag, into.max + q);
    hn::BlendedStore(sum, present, tag, into.sum + q);
    hn::BlendedStore(keep, present, tag, factors.keep + q);
    hn::BlendedStore(gain, present, tag, factors.gain + q);
  }
}

void tile_blend(float* into, const float* next, int64_t width, float keep, float gain) {
  const F32x16 a = lanes::set(keep);
  const F32x16 b = lanes::set(gain);
  for (int64_t d = 0; d < width; d += kLanes) {
    lanes::store(lanes::fma(lanes::load(next + d), b, lanes::mul(lanes::load(into + d), a)), into + d);
  }
}

void tile_finish(const float* values, float sum, int64_t dim, float* out) {
  const F32x16 factor = lanes::set(1.0F / sum);
  int64_t d = 0;
  for (; d + kLanes <= dim; d += kLanes) {
    lanes::store(lanes::mul(lanes::load(values + d), factor), out + d);
  }
  if (d < dim) {
    lanes::store_partial(lanes::mul(lanes::load(values + d), factor), out + d, static_cast<size_t>(dim - d));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::state {
namespace {

constexpr auto kSoftmax = KVERN_TARGET_TABLE(tile_softmax);
constexpr auto kJoin = KVERN_TARGET_TABLE(tile_join);
constexpr auto kBlend = KVERN_TARGET_TABLE(tile_blend);
constexpr auto kFinish = KVERN_TARGET_TABLE(tile_finish);

}  // namespace

TileKernels tile_kernels(compute::CpuTarget target) {
  return {kSoftmax[target], kJoin[target], kBlend[target], kFinish[target]};
}

}  // namespace kvern::state
#endif  // HWY_ONCE
