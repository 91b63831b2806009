#include "state/attend/block_kernels.h"

#include "compute/kernels/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "state/attend/block_kernels.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compute/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::state {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
namespace lanes = compute::HWY_NAMESPACE::lanes;
using lanes::F32x16;
using lanes::Tag;
using lanes::Vector;
constexpr int64_t kLanes = lanes::kLanes;
constexpr auto kWidth = static_cast<int64_t>(lanes::kWidth);

// A tile of kRows queries and kCols registers of keys. Lane l of the virtual lanes (dimensions l, l + 16, …)
// is one fma chain; the 16 chains are added by the tree of lanes-inl.h, deepest leaves first so that few are
// alive at once.
template <int kRows, int kCols>
struct ScoreTile {
  const float* queries;
  const float* keys;
  int64_t width;

  struct Sums {
    Vector v[kRows * kCols];
  };

  HWY_INLINE Sums chain(int64_t lane) const {
    Sums sums;
#pragma GCC unroll 16
    for (Vector& v : sums.v) v = hn::Zero(Tag());
    for (int64_t d = lane; d < width; d += kLanes) {
      Vector k[kCols];
#pragma GCC unroll 16
      for (int c = 0; c < kCols; ++c) k[c] = hn::LoadU(Tag(), keys + d * kKeyStride + c * kWidth);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const Vector q = hn::Set(Tag(), queries[r * width + d]);
#pragma GCC unroll 16
        for (int c = 0; c < kCols; ++c) sums.v[r * kCols + c] = hn::MulAdd(q, k[c], sums.v[r * kCols + c]);
      }
    }
    return sums;
  }

  static HWY_INLINE Sums add(const Sums& a, const Sums& b) {
    Sums sums;
#pragma GCC unroll 16
    for (int i = 0; i < kRows * kCols; ++i) sums.v[i] = hn::Add(a.v[i], b.v[i]);
    return sums;
  }

  // The sum of lanes lane, lane + step, lane + 2 step, …
  template <int kStep>
  HWY_INLINE Sums tree(int64_t lane) const {
    if constexpr (kStep == kLanes) {
      return chain(lane);
    } else {
      const Sums a = tree<2 * kStep>(lane);
      return add(a, tree<2 * kStep>(lane + kStep));
    }
  }

  HWY_INLINE void store(float* scores) const {
    const Sums sums = tree<1>(0);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int c = 0; c < kCols; ++c)
        hn::StoreU(sums.v[r * kCols + c], Tag(), scores + r * kTile + c * kWidth);
    }
  }
};

// Registers: 5 partial results for each of the rows and columns of a tile, and its operands.
constexpr int kScoreCols = HWY_TARGET == HWY_AVX2 ? 1 : 2;

template <int kRows>
HWY_INLINE void score_tile(const BlockScores& task, int64_t q, int64_t key) {
  const ScoreTile<kRows, kScoreCols> tile{task.queries + q * task.width, task.keys + key, task.width};
  tile.store(task.scores + q * kTile + key);
}

// kRows queries from q on, kWide groups of 16 dimensions from d on, over the first `count` values.
template <int kRows, int kWide>
HWY_INLINE void weigh(const BlockValues& task, int64_t q, int64_t d, int64_t count) {
  F32x16 sums[kRows * kWide];
#pragma GCC unroll 16
  for (F32x16& sum : sums) sum = lanes::zero();
  const float* weights = task.weights + q * kTile;
  const auto add = [&](int r, int64_t i, const F32x16* v) HWY_ATTR {
    const F32x16 weight = lanes::set(weights[r * kTile + i]);
#pragma GCC unroll 16
    for (int w = 0; w < kWide; ++w) sums[r * kWide + w] = lanes::fma(weight, v[w], sums[r * kWide + w]);
  };
  for (int64_t i = 0; i < count; ++i) {
    F32x16 v[kWide];
#pragma GCC unroll 16
    for (int w = 0; w < kWide; ++w) v[w] = lanes::load(task.values + i * task.width + d + w * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) add(r, i, v);
  }
  // Later queries of the tile may see some positions more.
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    for (int64_t i = count; i < task.counts[q + r]; ++i) {
      F32x16 v[kWide];
#pragma GCC unroll 16
      for (int w = 0; w < kWide; ++w) v[w] = lanes::load(task.values + i * task.width + d + w * kLanes);
      add(r, i, v);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const F32x16 keep = lanes::set(task.factors.keep[q + r]);
    const F32x16 gain = lanes::set(task.factors.gain[q + r]);
    float* out = task.sums + (q + r) * task.width + d;
#pragma GCC unroll 16
    for (int w = 0; w < kWide; ++w) {
      lanes::store(lanes::fma(sums[r * kWide + w], gain, lanes::mul(lanes::load(out + w * kLanes), keep)),
                   out + w * kLanes);
    }
  }
}

template <int kRows>
HWY_INLINE void weigh_rows(const BlockValues& task, int64_t q) {
  constexpr int kWide = lanes::kParts == 1 ? 4 : 2;
  int64_t d = 0;
  for (; d + kWide * kLanes <= task.width; d += kWide * kLanes)
    weigh<kRows, kWide>(task, q, d, task.counts[q]);
  for (; d < task.width; d += kLanes) weigh<kRows, 1>(task, q, d, task.counts[q]);
}

}  // namespace

void block_transpose(const float* keys, int64_t count, int64_t width, float* out) {
  constexpr int64_t kBlock = 8;  // keeps the written lines in L1 for all of their columns
  for (int64_t d0 = 0; d0 < width; d0 += kBlock) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t d = d0; d < d0 + kBlock; ++d) out[d * kKeyStride + i] = keys[i * width + d];
    }
    for (int64_t d = d0; d < d0 + kBlock; ++d) {
      for (int64_t i = count; i < kTile; ++i) out[d * kKeyStride + i] = 0.0F;
    }
  }
}

void block_scores(const BlockScores& task) {
  // Some keys with all queries, so that those keys stay in L1.
  for (int64_t key = 0; key < task.key_count; key += kScoreCols * kWidth) {
    int64_t q = 0;
    for (; q + 2 <= task.count; q += 2) score_tile<2>(task, q, key);
    if (q < task.count) score_tile<1>(task, q, key);
  }
}

void block_values(const BlockValues& task) {
  constexpr int kRows = lanes::kParts == 1 ? 4 : 2;
  int64_t q = 0;
  for (; q + kRows <= task.count; q += kRows) weigh_rows<kRows>(task, q);
  for (; q < task.count; ++q) weigh_rows<1>(task, q);
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::state {
namespace {

constexpr auto kTranspose = KVERN_TARGET_TABLE(block_transpose);
constexpr auto kScores = KVERN_TARGET_TABLE(block_scores);
constexpr auto kValues = KVERN_TARGET_TABLE(block_values);

}  // namespace

BlockKernels block_kernels(compute::CpuTarget target) {
  return {kTranspose[target], kScores[target], kValues[target]};
}

}  // namespace kvern::state
#endif  // HWY_ONCE
