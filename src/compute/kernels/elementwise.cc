#include "compute/kernels/elementwise.h"

#include "compute/kernels/dispatch.h"
#include "compute/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/kernels/elementwise.cc"
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

// out[i] = f(a[i], b[i]) in groups of 16.
template <typename F>
HWY_INLINE void map(const float* a, const float* b, float* out, int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) lanes::store(f(lanes::load(a + i), lanes::load(b + i)), out + i);
  if (i == n) return;
  const auto rest = static_cast<size_t>(n - i);
  lanes::store_partial(f(lanes::load_partial(a + i, rest), lanes::load_partial(b + i, rest)), out + i, rest);
}

}  // namespace

void add_range(const float* a, const float* b, float* out, int64_t n) {
  map(a, b, out, n, [](const F32x16& x, const F32x16& y) HWY_ATTR { return lanes::add(x, y); });
}

void scale_range(float* x, int64_t n, float factor) {
  const F32x16 f = lanes::set(factor);
  map(x, x, x, n, [&](const F32x16& v, const F32x16&) HWY_ATTR { return lanes::mul(v, f); });
}

void soft_cap_range(float* x, int64_t n, float cap) {
  const F32x16 c = lanes::set(cap);
  map(x, x, x, n, [&](const F32x16& v, const F32x16&) HWY_ATTR {
    const F32x16 ratio = lanes::div(v, c);
    return lanes::mul(c, lanes::make([&](size_t i) HWY_ATTR { return math::tanh(ratio.part[i]); }));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::compute {
namespace {

constexpr auto kAddRange = KVERN_TARGET_TABLE(add_range);
constexpr auto kScaleRange = KVERN_TARGET_TABLE(scale_range);
constexpr auto kSoftCapRange = KVERN_TARGET_TABLE(soft_cap_range);
// About 10 us of work each: less is not worth a second thread.
constexpr int64_t kPlainGrain = 65536;
constexpr int64_t kTanhGrain = 8192;

}  // namespace

void add(Context& context, std::span<const float> a, std::span<const float> b, std::span<float> out) {
  KVERN_CHECK(a.size() == b.size() && a.size() == out.size());
  const auto kernel = kAddRange[context.target()];
  for_ranges(context, std::ssize(a), kPlainGrain, [&](int64_t begin, int64_t end) {
    kernel(a.data() + begin, b.data() + begin, out.data() + begin, end - begin);
  });
}

void scale(Context& context, std::span<float> x, float factor) {
  const auto kernel = kScaleRange[context.target()];
  for_ranges(context, std::ssize(x), kPlainGrain,
             [&](int64_t begin, int64_t end) { kernel(x.data() + begin, end - begin, factor); });
}

void soft_cap(Context& context, std::span<float> x, float cap) {
  KVERN_CHECK(cap > 0.0F);
  const auto kernel = kSoftCapRange[context.target()];
  for_ranges(context, std::ssize(x), kTanhGrain,
             [&](int64_t begin, int64_t end) { kernel(x.data() + begin, end - begin, cap); });
}

void add_bias(Context& context, const BiasTask& task, std::span<const float> bias) {
  const auto kernel = kAddRange[context.target()];
  const int64_t n = std::ssize(bias);
  const int64_t stride = task.stride != 0 ? task.stride : n;
  for_ranges(context, task.tokens, kPlainGrain / (n + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t token = begin; token < end; ++token) {
      float* x = task.x + token * stride;
      kernel(x, bias.data(), x, n);
    }
  });
}

}  // namespace kvern::compute
#endif  // HWY_ONCE
