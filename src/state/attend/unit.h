// Runs one unit of attention (plan.h), whole or a range of its spans.
#pragma once

#include "compute/context.h"
#include "state/attend/attend.h"
#include "state/attend/block_kernels.h"
#include "state/attend/plan.h"
#include "state/attend/tile_kernels.h"

namespace kvern::state {

/// From so many queries on, a tile is decoded once and read by all; below, the codec's fused kernels read it.
/// Both give the same bits.
inline constexpr int64_t kDecodedQueries = 12;

/// Softmax state and weighted values of the queries of a unit. Query index = token of the unit * group + head
/// of the group.
struct Partial {
  SoftmaxState state;
  float* values = nullptr;  ///< [queries, padded(v_dim)]
};

/// For one attend() call. Immutable; used by many threads at once.
class UnitAttention {
 public:
  UnitAttention(const compute::Context& context, const AttendSource& source, const AttendArgs& args);

  int64_t group() const { return group_; }
  /// Floats of a Partial for the queries of so many tokens.
  int64_t partial_floats(int64_t tokens) const;
  Partial partial_at(float* memory, int64_t tokens) const;

  /// All spans, then the output.
  void run(const AttendUnit& unit, compute::Scratch& scratch) const;
  /// Spans [first, last) into partials [0, last - first), `stride` floats apart.
  void run_spans(const AttendUnit& unit, const AttendTask& task, compute::Scratch& scratch,
                 float* partials) const;
  /// Merges the partials of all spans of the unit, then the output.
  void finish(const AttendUnit& unit, compute::Scratch& scratch, float* partials) const;

 private:
  // Scratch of one unit.
  struct Work {
    const AttendUnit* unit = nullptr;
    int64_t tokens = 0;
    bool decoded = false;       // the unit has enough queries that tiles are decoded
    int64_t first = 0;          // position of the unit's first token
    float* queries = nullptr;   // [queries, k_width]
    float* scores = nullptr;    // [queries, kTile]
    int32_t* counts = nullptr;  // [queries] positions of the tile that a query sees
    float* keys = nullptr;      // [kTile, k_width] decoded
    float* keys_transposed = nullptr;
    float* values = nullptr;  // [kTile, v_width] decoded
    Partial tile;
    Partial span;
    Partial total;
    MergeFactors factors;
  };

  // Some consecutive queries of a unit and the positions [begin, end) of a tile that the last of them sees.
  struct Part {
    int64_t first_query = 0;
    int64_t queries = 0;
    int64_t begin = 0;
    int64_t end = 0;
  };

  Work make_work(const AttendUnit& unit, compute::Scratch& scratch) const;
  void clear(const Partial& partial, int64_t tokens) const;
  void load_queries(const Work& work) const;
  void add_span(const Work& work, int64_t span, const Partial& into) const;
  void add_tile_encoded(const Work& work, int64_t begin, int64_t end, const Partial& into) const;
  void add_tile_decoded(const Work& work, int64_t begin, int64_t end, const Partial& into) const;
  void encoded_part(const Work& work, const Part& part, const Partial& into) const;
  void softmax(const Work& work, const Part& part, const Partial& into) const;
  void decode_tile(const Work& work, KvSide side, int64_t begin, int64_t end, float* out) const;
  template <typename F>
  void for_runs(const Work& work, KvSide side, int64_t begin, int64_t end, const F& f) const;
  void merge(const Work& work, const Partial& into, const Partial& next, int64_t first_query) const;
  void store_outputs(const Work& work, const Partial& from) const;
  const std::byte* upcoming(const Work& work, KvSide side, int64_t position) const;

  const AttendSource& source_;
  const AttendArgs& args_;
  int64_t group_;    // query heads of a key/value head
  int64_t k_width_;  // padded sizes
  int64_t v_width_;
  TileKernels tiles_;
  BlockKernels blocks_;
  const CodecKernels& keys_;
  const CodecKernels& values_;
};

}  // namespace kvern::state
