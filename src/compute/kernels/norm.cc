#include "compute/kernels/norm.h"

#include <cmath>

#include "compute/kernels/dispatch.h"
#include "compute/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/kernels/norm.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compute/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::compute {
namespace HWY_NAMESPACE {
namespace {

using lanes::F32x16;
constexpr int64_t kLanes = lanes::kLanes;

// Calls f(offset, 16) for the full groups of lanes of [0, n), then f(offset, rest) if there is a rest.
template <typename F>
HWY_INLINE void for_lanes(int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i, kLanes);
  if (i < n) f(i, n - i);
}

HWY_INLINE F32x16 load_some(const float* p, int64_t count) {
  return count == kLanes ? lanes::load(p) : lanes::load_partial(p, static_cast<size_t>(count));
}

HWY_INLINE void store_some(const F32x16& v, float* p, int64_t count) {
  if (count == kLanes) {
    lanes::store(v, p);
  } else {
    lanes::store_partial(v, p, static_cast<size_t>(count));
  }
}

// 1 / sqrt(sum / n + eps), each operation rounded once.
float inverse_root(float sum, int64_t n, float eps) {
  return 1.0F / std::sqrt(sum / static_cast<float>(n) + eps);
}

}  // namespace

void rms_norm_row(const float* x, float* out, int64_t n, const RmsNormWeights& w) {
  F32x16 sum = lanes::zero();
  for_lanes(n, [&](int64_t i, int64_t count) HWY_ATTR {
    const F32x16 v = load_some(x + i, count);
    sum = lanes::fma(v, v, sum);
  });
  const F32x16 factor = lanes::set(inverse_root(lanes::reduce_sum(sum), n, w.eps));
  const F32x16 offset = lanes::set(w.weight_offset);
  for_lanes(n, [&](int64_t i, int64_t count) HWY_ATTR {
    F32x16 v = lanes::mul(load_some(x + i, count), factor);
    if (w.weight != nullptr) v = lanes::mul(v, lanes::add(load_some(w.weight + i, count), offset));
    store_some(v, out + i, count);
  });
}

void layer_norm_row(const float* x, float* out, int64_t n, const LayerNormWeights& w) {
  F32x16 sum = lanes::zero();
  for_lanes(n, [&](int64_t i, int64_t count) HWY_ATTR { sum = lanes::add(sum, load_some(x + i, count)); });
  const F32x16 mean = lanes::set(lanes::reduce_sum(sum) / static_cast<float>(n));
  F32x16 squares = lanes::zero();
  for_lanes(n, [&](int64_t i, int64_t count) HWY_ATTR {
    const F32x16 v = lanes::sub(load_some(x + i, count), mean);
    if (count == kLanes) {
      squares = lanes::fma(v, v, squares);
    } else {  // lanes beyond the row hold 0 - mean: cut them
      HWY_ALIGN float buffer[kLanes];
      lanes::store(v, buffer);
      const F32x16 kept = lanes::load_partial(buffer, static_cast<size_t>(count));
      squares = lanes::fma(kept, kept, squares);
    }
  });
  const F32x16 factor = lanes::set(inverse_root(lanes::reduce_sum(squares), n, w.eps));
  for_lanes(n, [&](int64_t i, int64_t count) HWY_ATTR {
    F32x16 v = lanes::mul(lanes::sub(load_some(x + i, count), mean), factor);
    if (w.weight != nullptr) v = lanes::mul(v, load_some(w.weight + i, count));
    if (w.bias != nullptr) v = lanes::add(v, load_some(w.bias + i, count));
    store_some(v, out + i, count);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::compute {
namespace {

constexpr auto kRmsNormRow = KVERN_TARGET_TABLE(rms_norm_row);
constexpr auto kLayerNormRow = KVERN_TARGET_TABLE(layer_norm_row);
// About 10 us of work: less is not worth a second thread.
constexpr int64_t kElementsPerTask = 32768;

// Calls row(x, out) for each row of n elements.
template <typename Row>
void for_rows(Context& context, const NormTask& task, const Row& row) {
  const int64_t dense = task.groups * task.n;
  const int64_t x_stride = task.x_stride != 0 ? task.x_stride : dense;
  const int64_t out_stride = task.out_stride != 0 ? task.out_stride : dense;
  for_ranges(context, task.tokens, kElementsPerTask / (dense + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t token = begin; token < end; ++token) {
      for (int64_t group = 0; group < task.groups; ++group) {
        row(task.x + token * x_stride + group * task.n, task.out + token * out_stride + group * task.n);
      }
    }
  });
}

}  // namespace

void rms_norm(Context& context, const NormTask& task, const RmsNormWeights& weights) {
  const auto kernel = kRmsNormRow[context.target()];
  for_rows(context, task, [&](const float* x, float* out) { kernel(x, out, task.n, weights); });
}

void layer_norm(Context& context, const NormTask& task, const LayerNormWeights& weights) {
  const auto kernel = kLayerNormRow[context.target()];
  for_rows(context, task, [&](const float* x, float* out) { kernel(x, out, task.n, weights); });
}

}  // namespace kvern::compute
#endif  // HWY_ONCE
