#include "compute/kernels/activation.h"

#include "compute/kernels/dispatch.h"
#include "compute/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/kernels/activation.cc"
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
using lanes::Vector;
constexpr int64_t kLanes = lanes::kLanes;

// x / (1 + e^-z)
HWY_INLINE Vector times_logistic(Vector x, Vector z) {
  return hn::Div(x, hn::Add(math::constant(1.0F), math::exp(hn::Neg(z))));
}

struct Silu {
  HWY_INLINE Vector operator()(Vector x) const { return times_logistic(x, x); }
};

// 0.5 (1 + tanh u) = 1 / (1 + e^-2u): no cancellation for negative x.
struct GeluTanh {
  HWY_INLINE Vector operator()(Vector x) const {
    const Vector cubic = hn::MulAdd(hn::Mul(math::constant(0.044715F), hn::Mul(x, x)), x, x);
    return times_logistic(x, hn::Mul(math::constant(1.5957691216057308F), cubic));  // 2 sqrt(2 / pi)
  }
};

struct GeluErf {
  HWY_INLINE Vector operator()(Vector x) const { return hn::Mul(x, math::normal_cdf(x)); }
};

template <typename Function>
HWY_INLINE F32x16 apply(const Function& function, const F32x16& gate, const float* up, int64_t count) {
  F32x16 out = lanes::make([&](size_t i) HWY_ATTR { return function(gate.part[i]); });
  if (up == nullptr) return out;
  return lanes::mul(out,
                    count == kLanes ? lanes::load(up) : lanes::load_partial(up, static_cast<size_t>(count)));
}

template <typename Function>
HWY_INLINE void glu_row(const float* gate, const float* up, float* out, int64_t n) {
  const Function function;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    lanes::store(apply(function, lanes::load(gate + i), up == nullptr ? up : up + i, kLanes), out + i);
  }
  if (i == n) return;
  const auto rest = static_cast<size_t>(n - i);
  lanes::store_partial(
      apply(function, lanes::load_partial(gate + i, rest), up == nullptr ? up : up + i, n - i), out + i,
      rest);
}

}  // namespace

void silu_row(const float* gate, const float* up, float* out, int64_t n) { glu_row<Silu>(gate, up, out, n); }
void gelu_tanh_row(const float* gate, const float* up, float* out, int64_t n) {
  glu_row<GeluTanh>(gate, up, out, n);
}
void gelu_erf_row(const float* gate, const float* up, float* out, int64_t n) {
  glu_row<GeluErf>(gate, up, out, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::compute {
namespace {

constexpr auto kSiluRow = KVERN_TARGET_TABLE(silu_row);
constexpr auto kGeluTanhRow = KVERN_TARGET_TABLE(gelu_tanh_row);
constexpr auto kGeluErfRow = KVERN_TARGET_TABLE(gelu_erf_row);
using RowKernel = void (*)(const float*, const float*, float*, int64_t);
constexpr int64_t kElementsPerTask = 8192;  // about 10 us: less is not worth a second thread

RowKernel row_kernel(Activation activation, CpuTarget target) {
  switch (activation) {
    case Activation::kSilu:
      return kSiluRow[target];
    case Activation::kGeluTanh:
      return kGeluTanhRow[target];
    case Activation::kGeluErf:
      return kGeluErfRow[target];
  }
  KVERN_CHECK(false);
  return nullptr;
}

}  // namespace

void glu(Context& context, Activation activation, const GluTask& task) {
  const RowKernel kernel = row_kernel(activation, context.target());
  const auto stride = [&](int64_t given) { return given != 0 ? given : task.n; };
  const int64_t blocks = (task.n + kElementsPerTask - 1) / kElementsPerTask;
  // Tasks are blocks of a row, so that a single token is shared between threads, too.
  for_ranges(
      context, task.tokens * blocks, kElementsPerTask / (task.n + 1) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t token = i / blocks;
          const int64_t first = i % blocks * kElementsPerTask;
          const float* up = task.up == nullptr ? nullptr : task.up + token * stride(task.up_stride) + first;
          kernel(task.gate + token * stride(task.gate_stride) + first, up,
                 task.out + token * stride(task.out_stride) + first,
                 std::min(kElementsPerTask, task.n - first));
        }
      });
}

}  // namespace kvern::compute
#endif  // HWY_ONCE
