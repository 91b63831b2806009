// A codec: how one head's key or value vector is stored, and the kernels that attention runs on the stored
// form.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "compute/cpu_target.h"

namespace kvern::state {

/// Positions of a tile of attention. Tiles start at absolute multiples of it.
inline constexpr int64_t kTile = 64;

enum class CodecKind : uint8_t { kF32, kF16, kBF16, kFp8, kAffine, kTurboKey, kTurboValue };

/// A vector of one position and head is stored as one record in each of the codec's planes.
inline constexpr int kMaxPlanes = 4;

/// Vectors are processed in 16 lanes by dimension mod 16 (docs/numerics.md); scratch vectors have this many
/// floats, the ones beyond the dimension being zero.
constexpr int64_t padded(int64_t dim) { return (dim + 15) / 16 * 16; }

/// What kernels must know of the vectors of a head.
struct VectorShape {
  int64_t dim = 0;
  int64_t group = 0;  ///< numbers that share a scale, a power of two; 0 where the codec has no groups

  /// Of a vector, for codecs with groups. A shift: kernels ask often, and a division takes as long as a row.
  constexpr int64_t groups() const { return dim >> std::countr_zero(static_cast<uint64_t>(group)); }
};

/// Consecutive positions of one head in storage; in each plane, record i follows record i - 1. Borrowed.
struct EncodedRun {
  std::array<std::byte*, kMaxPlanes> planes{};
  int64_t count = 0;
};

/// Runs that follow each other in position order.
using EncodedRuns = std::span<const EncodedRun>;

/// Vectors to encode: run.count vectors of shape.dim floats, `stride` floats apart.
struct EncodeTask {
  const float* from = nullptr;
  int64_t stride = 0;
  VectorShape shape;
};

/// Queries to bring into the form that ScoreTask takes.
struct PrepareTask {
  const float* from = nullptr;  ///< [count, padded(dim)], zero beyond dim
  int64_t count = 0;
  VectorShape shape;
  std::byte* to = nullptr;  ///< [count, query_bytes(shape)], 64-byte aligned
};

/// Scores of queries with the vectors of runs: scores[q * score_stride + i] belongs to query q and the i-th
/// vector. The arithmetic of one score is the codec's; for the float codecs it is the dot product in 16 lanes
/// by dimension mod 16 (fma, ascending) and the tree of lanes-inl.h.
struct ScoreTask {
  const std::byte* queries = nullptr;  ///< [count] as prepared
  int64_t count = 0;
  VectorShape shape;
  float* scores = nullptr;
  int64_t score_stride = 0;
  /// What will be read next; fetched into the cache meanwhile. May be empty.
  EncodedRuns next;
};

/// Weighted sums of the vectors of runs, at most kTile together: sums[q * padded(dim) + d] continued with
/// weights[q * weight_stride + i] for the i-th vector. The float codecs: fma(weight, vector_i[d], sum) for i
/// ascending. Codecs whose arithmetic spans several vectors take all runs of one call as one piece, so a
/// caller must pass what its numerics call one piece in one call; where runs begin and end never shows.
struct AccumulateTask {
  const float* weights = nullptr;
  int64_t weight_stride = 0;
  int64_t count = 0;  ///< queries
  VectorShape shape;
  float* sums = nullptr;  ///< [count, padded(dim)]
  EncodedRuns next;       ///< as ScoreTask::next
};

/// The functions of a codec for one instruction set. All are pure and thread-safe, give the same bits on
/// every instruction set, and touch exactly the records of the runs.
struct CodecKernels {
  void (*encode)(const EncodeTask& task, const EncodedRun& to);
  /// Exact values of the stored form: out [run.count, padded(dim)], zero beyond dim.
  void (*decode)(const VectorShape& shape, const EncodedRun& from, float* out);
  /// Bytes of one prepared query, a multiple of 64.
  size_t (*query_bytes)(const VectorShape& shape);
  void (*prepare)(const PrepareTask& task);
  void (*scores)(const ScoreTask& task, EncodedRuns keys);
  void (*accumulate)(const AccumulateTask& task, EncodedRuns values);
  /// Writes the same vectors in the form of Codec::unpacked, which may be read many times. Null where
  /// `unpacked` is.
  void (*unpack)(const VectorShape& shape, const EncodedRun& from, const EncodedRun& to);
};

/// What a codec is. Immutable, static storage; one object for each, so its address is its identity.
struct Codec {
  CodecKind kind;
  int bits = 0;           ///< of a code; 0 where that says nothing
  int64_t group = 0;      ///< VectorShape::group
  std::string_view name;  ///< unique; part of the identity of saved state, so it never changes its meaning
  int planes = 1;
  /// Whether vectors of `dim` numbers can be stored.
  bool (*takes)(const Codec& codec, int64_t dim) = nullptr;
  /// Bytes of one record of `plane` for a vector of `dim` floats.
  size_t (*record_bytes)(const Codec& codec, int plane, int64_t dim) = nullptr;
  const CodecKernels& (*kernels)(compute::CpuTarget target) = nullptr;
  /// Null: for many queries a tile is decoded to floats and multiplied as such, which gives the bits of
  /// scores and accumulate. Else: the codec whose kernels read an unpacked tile, with the bits of this one's.
  const Codec* unpacked = nullptr;

  VectorShape shape(int64_t dim) const { return {dim, group}; }
};

}  // namespace kvern::state
