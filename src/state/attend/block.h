// One task of attention: some consecutive tokens of a row, one key/value head and the query heads that share
// it.
#pragma once

#include "compute/context.h"
#include "state/attend/attend.h"
#include "state/attend/tile_kernels.h"

namespace kvern::state {

/// Tokens [begin, end) of a row's new tokens.
struct AttendBlock {
  const AttendRow* row = nullptr;
  int64_t kv_head = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

/// Runs blocks of one attend() call. Immutable; used by many threads at once.
class BlockAttention {
 public:
  BlockAttention(const compute::Context& context, const AttendSource& source, const AttendArgs& args);

  void run(const AttendBlock& block, compute::Scratch& scratch) const;

 private:
  struct Work;
  Work make_work(const AttendBlock& block, compute::Scratch& scratch) const;
  void load_queries(const Work& work) const;
  void clear(const Partial& partial, int64_t queries) const;
  void add_span(const Work& work, int64_t begin, int64_t end) const;
  void add_tile(const Work& work, int64_t begin, int64_t end) const;
  void tile_scores(const Work& work, int64_t begin, int64_t end, int64_t token, int64_t tokens) const;
  void tile_values(const Work& work, int64_t begin, int64_t end, int64_t token, int64_t tokens) const;
  void store_outputs(const Work& work) const;

  const AttendSource& source_;
  const AttendArgs& args_;
  int64_t group_;    // query heads of a key/value head
  int64_t k_width_;  // padded sizes
  int64_t v_width_;
  TileKernels tiles_;
  const CodecKernels& keys_;
  const CodecKernels& values_;
};

}  // namespace kvern::state
