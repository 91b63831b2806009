// Kernels of the codecs whose stored form is one number for each dimension: f32, f16, bf16. Included by each
// of them inside its own foreach_target cycle.
#if defined(KVERN_STATE_CODEC_ELEMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_STATE_CODEC_ELEMENTS_INL_H_
#undef KVERN_STATE_CODEC_ELEMENTS_INL_H_
#else
#define KVERN_STATE_CODEC_ELEMENTS_INL_H_
#endif

#include "hwy/highway.h"

#include <cstring>

#include "compute/kernels/half-inl.h"
#include "compute/kernels/lanes-inl.h"
#include "compute/kernels/sums-inl.h"
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
  static constexpr CodecKernels kernels() {
    return {&encode, &decode, &query_bytes, &prepare, &scores, &accumulate, nullptr};
  }

  static void encode(const EncodeTask& task, const EncodedRun& to) {
    const int64_t dim = task.shape.dim;
    const int64_t record = padded(dim) * Element::kBytes;
    for (int64_t i = 0; i < to.count; ++i) {
      const float* from = task.from + i * task.stride;
      std::byte* out = to.planes[0] + i * record;
      int64_t d = 0;
      for (; d + kLanes <= dim; d += kLanes) Element::store(lanes::load(from + d), out + d * Element::kBytes);
      if (d < dim) {
        Element::store(lanes::load_partial(from + d, static_cast<size_t>(dim - d)),
                       out + d * Element::kBytes);
      }
    }
  }

  static void decode(const VectorShape& shape, const EncodedRun& from, float* out) {
    const int64_t elements = from.count * padded(shape.dim);
    for (int64_t i = 0; i < elements; i += kLanes) {
      lanes::store(Element::load(from.planes[0] + i * Element::kBytes), out + i);
    }
  }

  // Queries are taken as they are.
  static size_t query_bytes(const VectorShape& shape) {
    return static_cast<size_t>(padded(shape.dim)) * sizeof(float);
  }
  static void prepare(const PrepareTask& task) {
    std::memcpy(task.to, task.from, static_cast<size_t>(task.count) * query_bytes(task.shape));
  }

  static void scores(const ScoreTask& task, EncodedRuns keys) {
    int64_t offset = 0;
    for (size_t r = 0; r < keys.size(); ++r) {
      score_run(task, keys[r], offset, r < task.next.size() ? task.next[r] : EncodedRun{});
      offset += keys[r].count;
    }
  }

  static void accumulate(const AccumulateTask& task, EncodedRuns values) {
    int64_t q = 0;
    if constexpr (lanes::kParts == 1) {
      for (; q + 4 <= task.count; q += 4) accumulate_rows<4>(task, q, values);
    }
    for (; q + 2 <= task.count; q += 2) accumulate_rows<2>(task, q, values);
    if (q < task.count) accumulate_rows<1>(task, q, values);
  }

 private:
  static void score_run(const ScoreTask& task, const EncodedRun& keys, int64_t offset,
                        const EncodedRun& next) {
    int64_t q = 0;
    if constexpr (lanes::kSumBatch >= 16) {
      for (; q + 4 <= task.count; q += 4) score_rows<4>(task, {q, offset}, keys, next);
    }
    for (; q + 2 <= task.count; q += 2) score_rows<2>(task, {q, offset}, keys, next);
    if (q < task.count) score_rows<1>(task, {q, offset}, keys, next);
  }

  struct ScorePlace {
    int64_t query;
    int64_t key;
  };

  // kRows queries, with kSumBatch / kRows keys at a time.
  template <int kRows>
  static HWY_INLINE void score_rows(const ScoreTask& task, const ScorePlace& to, const EncodedRun& keys,
                                    const EncodedRun& next) {
    constexpr int kKeys = lanes::kSumBatch / kRows;
    const int64_t width = padded(task.shape.dim);
    const int64_t record = width * Element::kBytes;
    const float* queries = reinterpret_cast<const float*>(task.queries) + to.query * width;
    float* scores = task.scores + to.query * task.score_stride + to.key;
    int64_t i = 0;
    for (; i + kKeys <= keys.count; i += kKeys) {
      F32x16 sums[kRows * kKeys];
#pragma GCC unroll 16
      for (F32x16& sum : sums) sum = lanes::zero();
      const std::byte* key = keys.planes[0] + i * record;
      if (i < next.count) fetch(next, record, {i * record, (i + kKeys) * record});
      for (int64_t d = 0; d < width; d += kLanes) {
        F32x16 k[kKeys];
#pragma GCC unroll 16
        for (int j = 0; j < kKeys; ++j) k[j] = Element::load(key + j * record + d * Element::kBytes);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          const F32x16 query = lanes::load(queries + r * width + d);
#pragma GCC unroll 16
          for (int j = 0; j < kKeys; ++j) sums[r * kKeys + j] = lanes::fma(query, k[j], sums[r * kKeys + j]);
        }
      }
      lanes::store_sums<kRows>(sums, scores + i, task.score_stride);
    }
    for (; i < keys.count; ++i) {
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        F32x16 sum = lanes::zero();
        for (int64_t d = 0; d < width; d += kLanes) {
          const F32x16 k = Element::load(keys.planes[0] + i * record + d * Element::kBytes);
          sum = lanes::fma(lanes::load(queries + r * width + d), k, sum);
        }
        scores[r * task.score_stride + i] = lanes::reduce_sum(sum);
      }
    }
  }

  // kRows queries from q on, all dimensions.
  template <int kRows>
  static HWY_INLINE void accumulate_rows(const AccumulateTask& task, int64_t q, EncodedRuns values) {
    constexpr int kWide = lanes::kParts == 1 ? 4 : 2;
    const int64_t width = padded(task.shape.dim);
    int64_t d = 0;
    for (; d + kWide * kLanes <= width; d += kWide * kLanes)
      accumulate_tile<kRows, kWide>(task, q, d, values);
    for (; d < width; d += kLanes) accumulate_tile<kRows, 1>(task, q, d, values);
  }

  // kRows queries from q on, kWide groups of 16 dimensions from d on.
  template <int kRows, int kWide>
  static HWY_INLINE void accumulate_tile(const AccumulateTask& task, int64_t q, int64_t d,
                                         EncodedRuns values) {
    const int64_t width = padded(task.shape.dim);
    const int64_t record = width * Element::kBytes;
    constexpr int64_t kPart = kWide * kLanes * Element::kBytes;  // bytes of a value that are read here
    float* out = task.sums + q * width + d;
    F32x16 sums[kRows * kWide];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int w = 0; w < kWide; ++w) sums[r * kWide + w] = lanes::load(out + r * width + w * kLanes);
    }
    const float* weights = task.weights + q * task.weight_stride;
    for (size_t run = 0; run < values.size(); ++run) {
      const std::byte* value = values[run].planes[0] + d * Element::kBytes;
      const EncodedRun next = run < task.next.size() ? task.next[run] : EncodedRun{};
      for (int64_t i = 0; i < values[run].count; ++i) {
        if (i < next.count) {
          const int64_t before = next.count * d * Element::kBytes;
          fetch(next, record, {before + i * kPart, before + (i + 1) * kPart});
        }
        F32x16 v[kWide];
#pragma GCC unroll 16
        for (int w = 0; w < kWide; ++w)
          v[w] = Element::load(value + i * record + w * kLanes * Element::kBytes);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          const F32x16 weight = lanes::set(weights[r * task.weight_stride + i]);
#pragma GCC unroll 16
          for (int w = 0; w < kWide; ++w) sums[r * kWide + w] = lanes::fma(weight, v[w], sums[r * kWide + w]);
        }
      }
      weights += values[run].count;
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int w = 0; w < kWide; ++w) lanes::store(sums[r * kWide + w], out + r * width + w * kLanes);
    }
  }

  struct ByteRange {
    int64_t begin;
    int64_t end;
  };

  // Fetches a share of the run into L2 (fetching as much into L1 runs out of its miss buffers and was
  // measured a third slower). Shares are counted in turns over up to four streams, no two in one page of
  // memory: processors follow a stream a page, and several at a time (measured with AVX-512 on an Intel Xeon
  // with AMX: a quarter more bandwidth).
  static HWY_INLINE void fetch(const EncodedRun& run, int64_t record, const ByteRange& share) {
    constexpr int64_t kLine = 64;
    constexpr int64_t kPage = 4096;
    const int64_t bytes = run.count * record;
    const int log_streams = bytes >= 4 * kPage ? 2 : bytes >= 2 * kPage ? 1 : 0;
    const int64_t distance = bytes >> log_streams;
    for (int64_t n = share.begin / kLine; n < share.end / kLine; ++n) {
      const int64_t stream = n & ((1 << log_streams) - 1);
      __builtin_prefetch(run.planes[0] + stream * distance + (n >> log_streams) * kLine, 0, 2);
    }
  }
};

}  // namespace elements
}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
