#include <algorithm>
#include <array>

#include "compute/kernels/dispatch.h"
#include "state/codec/turbo/tables.h"
#include "state/codec/turbo/turbo.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "state/codec/turbo/turbo_value.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compute/kernels/half-inl.h"
#include "state/codec/integer/kernels-inl.h"
#include "state/codec/turbo/lookup-inl.h"

KVERN_BEFORE_INTEGER();
namespace kvern::state {
namespace HWY_NAMESPACE {
namespace turbo_value {

namespace hn = hwy::HWY_NAMESPACE;
namespace lanes = compute::HWY_NAMESPACE::lanes;
namespace half = compute::HWY_NAMESPACE::half;
using lanes::F32x16;
using turbo::kGroup;

/// Sets of values kept decoded at a time.
constexpr int64_t kBatch = 16;

template <int kBits>
struct Kernels {
  static constexpr int64_t code_bytes(int64_t numbers) { return numbers * kBits / 8; }

  static void encode(const EncodeTask& task, const EncodedRun& to) {
    const int64_t groups = task.shape.dim / kGroup;
    for (int64_t i = 0; i < to.count; ++i) {
      alignas(64) float scales[16] = {};
      for (int64_t g = 0; g < groups; ++g) {
        alignas(64) uint8_t codes[kGroup];
        scales[g] = encode_group(task.from + i * task.stride + g * kGroup, codes);
        state::integer::pack_codes<kBits>(codes, kGroup,
                                          to.planes[0] + code_bytes((i * groups + g) * kGroup));
      }
      alignas(32) uint16_t stored[16];
      half::store_f16(lanes::load(scales), stored);
      std::memcpy(to.planes[1] + i * groups * 2, stored, static_cast<size_t>(groups) * 2);
    }
  }

  static void decode(const VectorShape& shape, const EncodedRun& from, float* out) {
    for (int64_t i = 0; i < from.count * (shape.dim / kGroup); ++i) {
      decode_group(from, i, out + i * kGroup);
    }
  }

  static size_t query_bytes(const VectorShape& shape) {
    return static_cast<size_t>(shape.dim) * sizeof(float);
  }
  static void prepare(const PrepareTask& task) {
    std::memcpy(task.to, task.from, static_cast<size_t>(task.count) * query_bytes(task.shape));
  }

  /// Dot products with the decoded vector, in 16 lanes and the tree.
  static void scores(const ScoreTask& task, EncodedRuns keys) {
    const int64_t dim = task.shape.dim;
    const auto* queries = reinterpret_cast<const float*>(task.queries);
    alignas(64) float key[kMaxDim];
    float* out = task.scores;
    for (const EncodedRun& run : keys) {
      for (int64_t i = 0; i < run.count; ++i, ++out) {
        decode(task.shape, record(run, i, dim), key);
        for (int64_t q = 0; q < task.count; ++q) {
          F32x16 sum = lanes::zero();
          for (int64_t d = 0; d < dim; d += 16) {
            sum = lanes::fma(lanes::load(queries + q * dim + d), lanes::load(key + d), sum);
          }
          out[q * task.score_stride] = lanes::reduce_sum(sum);
        }
      }
    }
  }

  /// fma(weight, number, sum) in the order of the vectors; a group of 32 dimensions at a time, up to four
  /// queries share what is decoded.
  static void accumulate(const AccumulateTask& task, EncodedRuns values) {
    const int64_t groups = task.shape.dim / kGroup;
    int64_t offset = 0;
    for (size_t r = 0; r < values.size(); ++r) {
      const EncodedRun next = r < task.next.size() ? task.next[r] : EncodedRun{};
      for (int64_t first = 0; first < values[r].count; first += kBatch) {
        const int64_t count = std::min(kBatch, values[r].count - first);
        fetch(next, first, count, task.shape.dim);
        for (int64_t g = 0; g < groups; ++g) {
          alignas(64) float numbers[kBatch * kGroup];
          for (int64_t i = 0; i < count; ++i) {
            decode_group(values[r], (first + i) * groups + g, numbers + i * kGroup);
          }
          add_batch(task, {numbers, count, offset + first, g});
        }
      }
      offset += values[r].count;
    }
  }

 private:
  static constexpr int64_t kMaxDim = 512;

  struct Batch {
    const float* numbers;  // [count, kGroup]
    int64_t count;
    int64_t first;  // vector
    int64_t group;
  };

  static EncodedRun record(const EncodedRun& run, int64_t index, int64_t dim) {
    return {{run.planes[0] + index * code_bytes(dim), run.planes[1] + index * (dim / kGroup) * 2}, 1};
  }

  static void fetch(const EncodedRun& next, int64_t first, int64_t count, int64_t dim) {
    const int64_t last = std::min(first + count, next.count);
    if (first >= last) return;
    for (int64_t b = first * code_bytes(dim); b < last * code_bytes(dim); b += 64) {
      __builtin_prefetch(next.planes[0] + b, 0, 2);
    }
    __builtin_prefetch(next.planes[1] + first * (dim / kGroup) * 2, 0, 2);
  }

  static HWY_INLINE float encode_group(const float* from, uint8_t* codes) {
    const integer::GroupNumbers numbers(from, kGroup);
    if (!numbers.range().finite) {
      std::fill_n(codes, kGroup, uint8_t{0});
      return __builtin_nanf("");
    }
    const F32x16 squares =
        lanes::fma(numbers.x[1], numbers.x[1], lanes::fma(numbers.x[0], numbers.x[0], lanes::zero()));
    const hn::Full128<float> one;
    const float mean = lanes::reduce_sum(squares) * (1.0F / kGroup);
    const float scale = hn::GetLane(hn::Sqrt(hn::Set(one, mean)));
    const F32x16 divisor = lanes::set(scale + turbo::kEpsilon);
    for (int64_t i = 0; i < 2; ++i) {
      lookup::store_boundaries_below<kBits>(lanes::div(numbers.x[i], divisor), codes + 16 * i);
    }
    return scale;
  }

  // Group `index` counted from the first vector's first one.
  static HWY_INLINE void decode_group(const EncodedRun& from, int64_t index, float* out) {
    uint16_t stored;
    std::memcpy(&stored, from.planes[1] + 2 * index, 2);
    const hn::Full128<float> one;
    const hn::Rebind<hwy::float16_t, hn::Full128<float>> narrow;
    const hn::Rebind<uint16_t, hn::Full128<float>> bits;
    const float scale = hn::GetLane(hn::PromoteTo(one, hn::BitCast(narrow, hn::Set(bits, stored))));
    alignas(64) uint8_t codes[kGroup];
    integer::unpack_codes<kBits>(from.planes[0] + code_bytes(index * kGroup), kGroup, codes);
    for (int64_t i = 0; i < 2; ++i) {
      lanes::store(lanes::mul(lookup::centroids<kBits>(codes + 16 * i), lanes::set(scale)), out + 16 * i);
    }
  }

  static void add_batch(const AccumulateTask& task, const Batch& batch) {
    int64_t q = 0;
    for (; q + 4 <= task.count; q += 4) add_rows<4>(task, q, batch);
    for (; q < task.count; ++q) add_rows<1>(task, q, batch);
  }

  template <int kRows>
  static HWY_INLINE void add_rows(const AccumulateTask& task, int64_t q, const Batch& batch) {
    float* out = task.sums + q * task.shape.dim + batch.group * kGroup;
    const float* weights = task.weights + q * task.weight_stride + batch.first;
    F32x16 sums[kRows][2];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      sums[r][0] = lanes::load(out + r * task.shape.dim);
      sums[r][1] = lanes::load(out + r * task.shape.dim + 16);
    }
    for (int64_t i = 0; i < batch.count; ++i) {
      const F32x16 low = lanes::load(batch.numbers + i * kGroup);
      const F32x16 high = lanes::load(batch.numbers + i * kGroup + 16);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const F32x16 weight = lanes::set(weights[r * task.weight_stride + i]);
        sums[r][0] = lanes::fma(weight, low, sums[r][0]);
        sums[r][1] = lanes::fma(weight, high, sums[r][1]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      lanes::store(sums[r][0], out + r * task.shape.dim);
      lanes::store(sums[r][1], out + r * task.shape.dim + 16);
    }
  }
};

}  // namespace turbo_value

template <int kBits>
const CodecKernels& turbo_value_kernels() {
  using K = turbo_value::Kernels<kBits>;
  static constexpr CodecKernels kKernels = {&K::encode, &K::decode,     &K::query_bytes, &K::prepare,
                                            &K::scores, &K::accumulate, nullptr};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::state {
namespace {

template <int kBits>
const CodecKernels& kernels(compute::CpuTarget target) {
  static constexpr auto kKernels = KVERN_TARGET_TABLE(turbo_value_kernels<kBits>);
  return kKernels[target]();
}

bool takes(const Codec&, int64_t dim) { return turbo::takes_dim(dim); }

size_t record_bytes(const Codec& codec, int plane, int64_t dim) {
  return static_cast<size_t>(plane == 0 ? dim * codec.bits / 8 : dim / turbo::kGroup * 2);
}

template <int kBits>
constexpr Codec value_codec(std::string_view name) {
  return {.kind = CodecKind::kTurboValue,
          .bits = kBits,
          .group = turbo::kGroup,
          .name = name,
          .planes = 2,
          .takes = &takes,
          .record_bytes = &record_bytes,
          .kernels = &kernels<kBits>};
}

constinit const std::array<Codec, 5> kCodecs = {{value_codec<8>("turbo-v8"), value_codec<5>("turbo-v5"),
                                                 value_codec<4>("turbo-v4"), value_codec<3>("turbo-v3"),
                                                 value_codec<2>("turbo-v2")}};

}  // namespace

std::span<const Codec> turbo_value_codecs() { return kCodecs; }

}  // namespace kvern::state
#endif  // HWY_ONCE
