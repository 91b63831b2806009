// Runs one unit of attention (plan.h), whole or a range of its spans.
#pragma once

#include <array>
#include <span>
#include <utility>

#include "compute/context.h"
#include "state/attend/attend.h"
#include "state/attend/block_kernels.h"
#include "state/attend/plan.h"
#include "state/attend/tile_kernels.h"

namespace kvern::state {

/// From so many queries on, a tile is decoded or unpacked once and read by all; below, the codec's kernels
/// read the stored form. Both give the same bits.
inline constexpr int64_t kManyQueries = 12;

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

  /// All spans, then the output.
  void run(const AttendUnit& unit, compute::Scratch& scratch) const;
  /// The spans of the task into partials, partial_floats(unit's tokens) apart.
  void run_spans(const AttendUnit& unit, const AttendTask& task, compute::Scratch& scratch,
                 float* partials) const;
  /// Merges the partials of all spans of the unit, then the output.
  void finish(const AttendUnit& unit, compute::Scratch& scratch, float* partials) const;

 private:
  // The kernels and sizes of one side in one form.
  struct SideKernels {
    const CodecKernels* codec = nullptr;     // of the stored form
    const CodecKernels* unpacked = nullptr;  // of the unpacked tile; null where queries and tiles are floats
    size_t query_bytes = 0;                  // of a prepared query; 0 where floats are taken as they are
    SideGeometry tile;                       // an unpacked tile
  };
  // A tile that was decoded or unpacked, and which positions of it.
  struct TileCache {
    KvPiece piece;
    std::byte* memory = nullptr;  // decoded: [kTile, width] floats; unpacked: the planes one after the other
  };

  // Where a piece lies in storage. Found when it is to be fetched ahead, used when it is read.
  struct Place {
    KvPiece piece;
    RunList runs;
  };
  // Tiles from the one that is read to the one that is fetched.
  static constexpr size_t kPlaces = 3;

  // Scratch of one unit.
  struct Work {
    const AttendUnit* unit = nullptr;
    int64_t tokens = 0;
    bool many = false;                            // kManyQueries
    int64_t first = 0;                            // position of the unit's first token
    std::span<KvPieces> seen;                     // [tokens]
    float* queries = nullptr;                     // [queries, k_width]
    std::array<std::byte*, kKvForms> prepared{};  // by form: queries for its kernels
    float* scores = nullptr;                      // [queries, kTile]
    int32_t* counts = nullptr;  // [queries] positions of the tile up to the last that a query sees
    float* keys_transposed = nullptr;
    mutable std::array<TileCache, 2> cache;                    // by side
    mutable std::array<std::array<Place, kPlaces>, 2> places;  // by side, then tile mod kPlaces
    Partial tile;
    Partial span;
    Partial total;
    MergeFactors factors;
  };

  // Tokens [begin, end) of a unit that see the same pieces of a tile, or, for decoded floats, one piece with
  // the same beginning.
  struct Part {
    int64_t tile = 0;  // first position of the tile
    int64_t begin = 0;
    int64_t end = 0;
    KvPieces pieces;
  };

  SideKernels side_kernels(KvForm form, KvSide side, compute::CpuTarget target) const;
  const SideKernels& kernels(KvForm form, KvSide side) const {
    return kernels_[static_cast<size_t>(form)][static_cast<size_t>(side)];
  }

  Work make_work(const AttendUnit& unit, compute::Scratch& scratch) const;
  void load_queries(Work& work) const;
  Partial partial_at(float* memory, int64_t tokens) const;
  void clear(const Partial& partial, int64_t tokens) const;
  std::pair<int64_t, int64_t> tokens_that_see(const Work& work, int64_t begin, int64_t end) const;
  void merge_span(const Work& work, int64_t span, const Partial& next) const;
  void store_outputs(const Work& work) const;
  void add_sink_logits(const Work& work) const;

  void add_span(const Work& work, int64_t span, const Partial& into) const;
  void add_tile(const Work& work, int64_t tile, const Partial& into) const;
  KvPieces seen_of_tile(const Work& work, const Part& part, int64_t token) const;
  int64_t end_of_equal(const Work& work, const Part& part) const;
  int64_t end_of_block(const Work& work, const Part& part) const;
  void add_part(const Work& work, const Part& part, const Partial& into) const;
  void add_block(const Work& work, const Part& part, const Partial& into) const;
  void hide_unseen(const Work& work, const Part& part) const;
  void softmax(const Work& work, const Part& part, const Partial& into) const;
  EncodedRuns piece_runs(const Work& work, const Part& part, const KvPiece& piece, KvSide side) const;
  EncodedRun unpacked_run(const Work& work, const Part& part, const KvPiece& piece, KvSide side) const;
  float* decoded_tile(const Work& work, const Part& part, KvSide side) const;
  void collect(const Work& work, const KvPiece& piece, KvSide side, RunList& runs) const;
  EncodedRuns next_runs(const Work& work, const Part& part, const KvPiece& piece, KvSide side) const;

  const AttendSource& source_;
  const AttendArgs& args_;
  int64_t group_;    // query heads of a key/value head
  int64_t k_width_;  // padded sizes
  int64_t v_width_;
  TileKernels tiles_;
  BlockKernels blocks_;
  std::array<std::array<SideKernels, 2>, kKvForms> kernels_;  // [form][side]
  RotationKernels rotate_keys_{};
  RotationKernels rotate_values_{};
};

}  // namespace kvern::state
