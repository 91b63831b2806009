// Kernels of the codecs whose stored form is one number for each dimension: f32, f16, bf16. Included by each
// of them inside its own foreach_target cycle.
#if defined(KVERN_STATE_CODEC_ELEMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_STATE_CODEC_ELEMENTS_INL_H_
#undef KVERN_STATE_CODEC_ELEMENTS_INL_H_
#else
#define KVERN_STATE_CODEC_ELEMENTS_INL_H_
#endif

#include "hwy/highway.h"

#include "compute/kernels/half-inl.h"
#include "compute/kernels/lanes-inl.h"
#include "state/codec/codec.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::state {
namespace HWY_NAMESPACE {
namespace elements {
namespace hn = hwy::HWY_NAMESPACE;
namespace lanes = compute::HWY_NAMESPACE::lanes;
namespace half = compute::HWY_NAMESPACE::half;
using lanes::F32x16;
constexpr int64_t kLanes = lanes::kLanes;

struct F32 {
  static constexpr int64_t kBytes = 4;
  static HWY_INLINE F32x16 load(const std::byte* p) { return lanes::load(reinterpret_cast<const float*>(p)); }
  static HWY_INLINE void store(const F32x16& v, std::byte* p) {
    lanes::store(v, reinterpret_cast<float*>(p));
  }
};

struct F16 {
  static constexpr int64_t kBytes = 2;
  static HWY_INLINE F32x16 load(const std::byte* p) { return lanes::load_f16(p); }
  static HWY_INLINE void store(const F32x16& v, std::byte* p) { half::store_f16(v, p); }
};

struct BF16 {
  static constexpr int64_t kBytes = 2;
  static HWY_INLINE F32x16 load(const std::byte* p) { return lanes::load_bf16(p); }
  static HWY_INLINE void store(const F32x16& v, std::byte* p) { half::store_bf16(v, p); }
};

template <typename Element>
struct ElementCodec {
  static void encode(const EncodeTask& task, const EncodedRun& to) {
    const int64_t record = padded(task.dim) * Element::kBytes;
    for (int64_t i = 0; i < to.count; ++i) {
      const float* from = task.from + i * task.stride;
      std::byte* out = to.planes[0] + i * record;
      int64_t d = 0;
      for (; d + kLanes <= task.dim; d += kLanes)
        Element::store(lanes::load(from + d), out + d * Element::kBytes);
      if (d < task.dim) {
        Element::store(lanes::load_partial(from + d, static_cast<size_t>(task.dim - d)),
                       out + d * Element::kBytes);
      }
    }
  }

  static void decode(const EncodedRun& from, int64_t dim, float* out) {
    const int64_t elements = from.count * padded(dim);
    for (int64_t i = 0; i < elements; i += kLanes) {
      lanes::store(Element::load(from.planes[0] + i * Element::kBytes), out + i);
    }
  }

  static void scores(const ScoreTask& task, const EncodedRun& keys) {
    const int64_t width = padded(task.dim);
    for (int64_t i = 0; i < keys.count; ++i) {
      const std::byte* key = keys.planes[0] + i * width * Element::kBytes;
      for (int64_t q = 0; q < task.count; ++q) {
        F32x16 sum = lanes::zero();
        for (int64_t d = 0; d < width; d += kLanes) {
          sum = lanes::fma(lanes::load(task.queries + q * width + d),
                           Element::load(key + d * Element::kBytes), sum);
        }
        task.scores[q * task.score_stride + i] = lanes::reduce_sum(sum);
      }
    }
  }

  static void accumulate(const AccumulateTask& task, const EncodedRun& values) {
    const int64_t width = padded(task.dim);
    for (int64_t d = 0; d < width; d += kLanes) {
      for (int64_t q = 0; q < task.count; ++q) {
        float* out = task.sums + q * width + d;
        F32x16 sum = lanes::load(out);
        for (int64_t i = 0; i < values.count; ++i) {
          const F32x16 value = Element::load(values.planes[0] + (i * width + d) * Element::kBytes);
          sum = lanes::fma(lanes::set(task.weights[q * task.weight_stride + i]), value, sum);
        }
        lanes::store(sum, out);
      }
    }
  }
};

}  // namespace elements
}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
