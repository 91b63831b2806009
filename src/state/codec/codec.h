// A codec: how one head's key or value vector is stored, and the kernels that attention runs on the stored
// form.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "compute/cpu_target.h"

namespace kvern::state {

enum class CodecId : uint8_t { kF32, kF16, kBF16 };

/// A vector of one position and head is stored as one record in each of the codec's planes.
inline constexpr int kMaxPlanes = 4;

/// Vectors are processed in 16 lanes by dimension mod 16 (docs/numerics.md); scratch vectors have this many
/// floats, the ones beyond the dimension being zero.
constexpr int64_t padded(int64_t dim) { return (dim + 15) / 16 * 16; }

/// Consecutive positions of one head in storage; in each plane, record i follows record i - 1. Borrowed.
struct EncodedRun {
  std::array<std::byte*, kMaxPlanes> planes{};
  int64_t count = 0;
};

/// Vectors to encode: count vectors of dim floats, `stride` floats apart.
struct EncodeTask {
  const float* from = nullptr;
  int64_t stride = 0;
  int64_t dim = 0;
};

/// Dot products of queries with the vectors of a run: scores[q * score_stride + i] = sum over d of
/// queries[q * padded(dim) + d] * vector_i[d], in 16 lanes by d mod 16 (fma, ascending d) and the tree of
/// lanes-inl.h.
struct ScoreTask {
  const float* queries = nullptr;  ///< [count, padded(dim)], zero beyond dim
  int64_t count = 0;
  int64_t dim = 0;
  float* scores = nullptr;
  int64_t score_stride = 0;
  /// Plane 0 of what will be read next, as many bytes as this run; fetched into the cache meanwhile. May be
  /// null.
  const std::byte* next = nullptr;
};

/// Weighted sums of the vectors of a run: sums[q * padded(dim) + d] = fma(weights[q * weight_stride + i],
/// vector_i[d], sums[…]) for i ascending.
struct AccumulateTask {
  const float* weights = nullptr;
  int64_t weight_stride = 0;
  int64_t count = 0;  ///< queries
  int64_t dim = 0;
  float* sums = nullptr;            ///< [count, padded(dim)]
  const std::byte* next = nullptr;  ///< as ScoreTask::next
};

/// The functions of a codec for one instruction set. All are pure and thread-safe, give the same bits on
/// every instruction set, and touch exactly the records of the run.
struct CodecKernels {
  void (*encode)(const EncodeTask& task, const EncodedRun& to);
  /// Exact values of the stored form: out [run.count, padded(dim)], zero beyond dim.
  void (*decode)(const EncodedRun& from, int64_t dim, float* out);
  void (*scores)(const ScoreTask& task, const EncodedRun& keys);
  void (*accumulate)(const AccumulateTask& task, const EncodedRun& values);
};

/// What a codec is. Immutable, static storage.
struct Codec {
  CodecId id;
  std::string_view name;  ///< as in `--kv-type`
  int planes;
  /// Bytes of one record of `plane` for a vector of `dim` floats.
  size_t (*record_bytes)(int plane, int64_t dim);
  const CodecKernels& (*kernels)(compute::CpuTarget target);
};

}  // namespace kvern::state
