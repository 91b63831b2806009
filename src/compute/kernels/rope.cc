#include "compute/kernels/rope.h"

#include "compute/kernels/dispatch.h"
#include "compute/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/kernels/rope.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compute/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::compute {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// One head: pairs (i, i + pairs).
void rope_half_split(float* x, const float* cosines, const float* sines, int64_t pairs) {
  constexpr auto kStep = static_cast<int64_t>(lanes::kWidth);
  const lanes::Tag tag;
  int64_t i = 0;
  for (; i + kStep <= pairs; i += kStep) {
    const auto a = hn::LoadU(tag, x + i);
    const auto b = hn::LoadU(tag, x + pairs + i);
    const auto c = hn::LoadU(tag, cosines + i);
    const auto s = hn::LoadU(tag, sines + i);
    hn::StoreU(hn::NegMulAdd(b, s, hn::Mul(a, c)), tag, x + i);
    hn::StoreU(hn::MulAdd(a, s, hn::Mul(b, c)), tag, x + pairs + i);
  }
  for (; i < pairs; ++i) {
    const float a = x[i];
    const float b = x[pairs + i];
    x[i] = __builtin_fmaf(-b, sines[i], a * cosines[i]);
    x[pairs + i] = __builtin_fmaf(a, sines[i], b * cosines[i]);
  }
}

// One head: pairs (2i, 2i + 1).
void rope_interleaved(float* x, const float* cosines, const float* sines, int64_t pairs) {
  for (int64_t i = 0; i < pairs; ++i) {
    const float a = x[2 * i];
    const float b = x[2 * i + 1];
    x[2 * i] = __builtin_fmaf(-b, sines[i], a * cosines[i]);
    x[2 * i + 1] = __builtin_fmaf(a, sines[i], b * cosines[i]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::compute {
namespace {

constexpr auto kHalfSplit = KVERN_TARGET_TABLE(rope_half_split);
constexpr auto kInterleaved = KVERN_TARGET_TABLE(rope_interleaved);
constexpr int64_t kElementsPerTask = 16384;  // about 10 us: less is not worth a second thread

}  // namespace

void rope(Context& context, const RopeAngles& angles, const RopeTask& task) {
  KVERN_CHECK(task.head_dim >= 2 * angles.pairs());
  const auto& table = angles.pairing() == RopePairing::kHalfSplit ? kHalfSplit : kInterleaved;
  const auto kernel = table[context.target()];
  const int64_t width = task.heads * task.head_dim;
  const int64_t stride = task.stride != 0 ? task.stride : width;
  for_ranges(context, angles.tokens(), kElementsPerTask / (width + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t token = begin; token < end; ++token) {
      for (int64_t head = 0; head < task.heads; ++head) {
        kernel(task.x + token * stride + head * task.head_dim, angles.cosines(token), angles.sines(token),
               angles.pairs());
      }
    }
  });
}

}  // namespace kvern::compute
#endif  // HWY_ONCE
