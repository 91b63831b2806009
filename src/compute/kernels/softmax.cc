#include "compute/kernels/softmax.h"

#include <cmath>
#include <limits>

#include "compute/kernels/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/kernels/softmax.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compute/kernels/lanes-inl.h"
#include "compute/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::compute {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using lanes::F32x16;
constexpr int64_t kLanes = lanes::kLanes;
constexpr int64_t kBlock = 1024;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// exp(x - max) of up to 16 elements; lanes beyond are 0.
HWY_INLINE F32x16 weights(const float* x, int64_t count, const F32x16& max) {
  const auto exp_of = [&](const F32x16& v) HWY_ATTR {
    return lanes::make([&](size_t i) HWY_ATTR { return math::exp(hn::Sub(v.part[i], max.part[i])); });
  };
  if (count == kLanes) return exp_of(lanes::load(x));
  HWY_ALIGN float buffer[kLanes];
  lanes::store(exp_of(lanes::load_partial(x, static_cast<size_t>(count))), buffer);
  return lanes::load_partial(buffer, static_cast<size_t>(count));
}

}  // namespace

// The largest element; NaN if there is one.
float row_max(const float* x, int64_t n) {
  F32x16 best = lanes::set(-kInfinity);
  F32x16 probe = lanes::zero();  // becomes NaN in a lane that saw a NaN (or infinity minus itself)
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const F32x16 v = lanes::load(x + i);
    best = lanes::max(v, best);
    probe = lanes::make([&](size_t p) HWY_ATTR {
      return hn::IfThenElse(hn::Eq(v.part[p], v.part[p]), probe.part[p], v.part[p]);
    });
  }
  float result = lanes::reduce_max(best);
  const float nan = lanes::reduce_sum(probe);
  if (nan != nan) return nan;
  for (; i < n; ++i) {
    if (x[i] != x[i]) return x[i];
    if (x[i] > result) result = x[i];
  }
  return result;
}

// Sum of exp(x - max).
double row_sum(const float* x, int64_t n, float max) {
  const F32x16 m = lanes::set(max);
  double total = 0.0;
  for (int64_t block = 0; block < n; block += kBlock) {
    const int64_t end = block + kBlock < n ? block + kBlock : n;
    F32x16 sum = lanes::zero();
    for (int64_t i = block; i < end; i += kLanes) {
      const int64_t count = end - i < kLanes ? end - i : kLanes;
      sum = lanes::add(sum, weights(x + i, count, m));
    }
    total += static_cast<double>(lanes::reduce_sum(sum));
  }
  return total;
}

void row_weights(float* x, int64_t n, float max, float inverse_sum) {
  const F32x16 m = lanes::set(max);
  const F32x16 factor = lanes::set(inverse_sum);
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t count = n - i < kLanes ? n - i : kLanes;
    lanes::store_partial(lanes::mul(weights(x + i, count, m), factor), x + i, static_cast<size_t>(count));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::compute {
namespace {

constexpr auto kRowMax = KVERN_TARGET_TABLE(row_max);
constexpr auto kRowSum = KVERN_TARGET_TABLE(row_sum);
constexpr auto kRowWeights = KVERN_TARGET_TABLE(row_weights);

}  // namespace

double log_sum_exp(const Context& context, std::span<const float> x) {
  KVERN_CHECK(!x.empty());
  const float max = kRowMax[context.target()](x.data(), std::ssize(x));
  if (!std::isfinite(max)) return max;
  return static_cast<double>(max) + std::log(kRowSum[context.target()](x.data(), std::ssize(x), max));
}

void softmax(const Context& context, std::span<float> x) {
  if (x.empty()) return;
  const float max = kRowMax[context.target()](x.data(), std::ssize(x));
  if (!std::isfinite(max)) {
    // Only -inf: no weight at all. NaN or +inf: no meaningful weights, and the caller shall see it.
    std::ranges::fill(x, max < 0.0F ? 0.0F : std::numeric_limits<float>::quiet_NaN());
    return;
  }
  const double sum = kRowSum[context.target()](x.data(), std::ssize(x), max);
  kRowWeights[context.target()](x.data(), std::ssize(x), max, static_cast<float>(1.0 / sum));
}

int64_t argmax(const Context& context, std::span<const float> x) {
  float max = kRowMax[context.target()](x.data(), std::ssize(x));
  if (std::isnan(max)) {
    max = -std::numeric_limits<float>::infinity();
    for (const float value : x) max = value > max ? value : max;
  }
  for (int64_t i = 0; i < std::ssize(x); ++i) {
    if (x[static_cast<size_t>(i)] == max) return i;
  }
  return 0;
}

}  // namespace kvern::compute
#endif  // HWY_ONCE
