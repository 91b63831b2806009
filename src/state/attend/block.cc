#include "state/attend/block.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace kvern::state {

// Scratch of one block. Query index = token * group + head within the group, tokens counted from the block's
// begin.
struct BlockAttention::Work {
  const AttendBlock* block = nullptr;
  int64_t tokens = 0;
  int64_t first = 0;         // position of the block's first token
  float* queries = nullptr;  // [queries, k_width]
  float* scores = nullptr;   // [queries, kTile]
  Partial tile;
  Partial span;
  Partial total;
};

BlockAttention::BlockAttention(const compute::Context& context, const AttendSource& source,
                               const AttendArgs& args)
    : source_(source),
      args_(args),
      group_(args.heads / source.geometry.kv_heads),
      k_width_(padded(source.geometry.key.dim)),
      v_width_(padded(source.geometry.value.dim)),
      tiles_(tile_kernels(context.target())),
      keys_(source.geometry.key.codec->kernels(context.target())),
      values_(source.geometry.value.codec->kernels(context.target())) {}

BlockAttention::Work BlockAttention::make_work(const AttendBlock& block, compute::Scratch& scratch) const {
  Work work;
  work.block = &block;
  work.tokens = block.end - block.begin;
  work.first = block.row->first + block.begin;
  const int64_t queries = work.tokens * group_;
  const int64_t state = padded(queries);
  const int64_t floats = queries * (k_width_ + kTile) + 3 * (2 * state + queries * v_width_);
  auto* next = reinterpret_cast<float*>(scratch.get(static_cast<size_t>(floats) * sizeof(float)));
  const auto take = [&](int64_t count) { return std::exchange(next, next + count); };
  work.queries = take(queries * k_width_);
  work.scores = take(queries * kTile);
  for (Partial* partial : {&work.tile, &work.span, &work.total}) {
    partial->values = take(queries * v_width_);
    partial->max = take(state);
    partial->sum = take(state);
  }
  return work;
}

void BlockAttention::load_queries(const Work& work) const {
  const int64_t dim = source_.geometry.key.dim;
  const int64_t stride = args_.q_stride != 0 ? args_.q_stride : args_.heads * dim;
  for (int64_t t = 0; t < work.tokens; ++t) {
    const float* from = args_.q + (work.block->row->offset + work.block->begin + t) * stride +
                        work.block->kv_head * group_ * dim;
    for (int64_t h = 0; h < group_; ++h) {
      float* to = work.queries + (t * group_ + h) * k_width_;
      std::copy_n(from + h * dim, dim, to);
      std::fill(to + dim, to + k_width_, 0.0F);
    }
  }
}

void BlockAttention::clear(const Partial& partial, int64_t queries) const {
  std::fill_n(partial.max, queries, -std::numeric_limits<float>::infinity());
  std::fill_n(partial.sum, queries, 0.0F);
  std::fill_n(partial.values, queries * v_width_, 0.0F);
}

void BlockAttention::run(const AttendBlock& block, compute::Scratch& scratch) const {
  const Work work = make_work(block, scratch);
  const int64_t queries = work.tokens * group_;
  load_queries(work);
  clear(work.total, queries);
  const int64_t end = work.first + work.tokens;
  for (int64_t begin = 0; begin < end; begin += kSpan) {
    clear(work.span, queries);
    add_span(work, begin, std::min(end, begin + kSpan));
    // Tokens before the span have an empty part in it, which must not be merged.
    const int64_t skip = std::max<int64_t>(0, begin - work.first) * group_;
    tiles_.merge({work.total.max + skip, work.total.sum + skip, work.total.values + skip * v_width_},
                 {work.span.max + skip, work.span.sum + skip, work.span.values + skip * v_width_},
                 queries - skip, v_width_);
  }
  store_outputs(work);
}

void BlockAttention::add_span(const Work& work, int64_t begin, int64_t end) const {
  for (int64_t tile = begin; tile < end; tile += kTile) add_tile(work, tile, std::min(end, tile + kTile));
}

// Positions [begin, end) of one tile. Tokens that see all of them are handled together, later ones one by
// one.
void BlockAttention::add_tile(const Work& work, int64_t begin, int64_t end) const {
  const int64_t see_all = std::clamp<int64_t>(end - 1 - work.first, 0, work.tokens);
  const auto part = [&](int64_t token, int64_t tokens, int64_t stop) {
    tile_scores(work, begin, stop, token, tokens);
    const int64_t q = token * group_;
    tiles_.softmax({work.scores + q * kTile, tokens * group_, stop - begin, args_.scale, work.tile.max + q,
                    work.tile.sum + q});
    tile_values(work, begin, stop, token, tokens);
    tiles_.merge({work.span.max + q, work.span.sum + q, work.span.values + q * v_width_},
                 {work.tile.max + q, work.tile.sum + q, work.tile.values + q * v_width_}, tokens * group_,
                 v_width_);
  };
  for (int64_t token = std::max<int64_t>(0, begin - work.first); token < see_all; ++token) {
    part(token, 1, work.first + token + 1);
  }
  if (see_all < work.tokens) part(see_all, work.tokens - see_all, end);
}

void BlockAttention::tile_scores(const Work& work, int64_t begin, int64_t end, int64_t token,
                                 int64_t tokens) const {
  const StreamId stream{source_.layer, work.block->kv_head, KvSide::kKey};
  for (int64_t p = begin; p < end;) {
    const EncodedRun run = source_.layout.run(work.block->row->slot, stream, p, end);
    keys_.scores({work.queries + token * group_ * k_width_, tokens * group_, source_.geometry.key.dim,
                  work.scores + token * group_ * kTile + (p - begin), kTile},
                 run);
    p += run.count;
  }
}

void BlockAttention::tile_values(const Work& work, int64_t begin, int64_t end, int64_t token,
                                 int64_t tokens) const {
  const StreamId stream{source_.layer, work.block->kv_head, KvSide::kValue};
  float* sums = work.tile.values + token * group_ * v_width_;
  std::fill_n(sums, tokens * group_ * v_width_, 0.0F);
  for (int64_t p = begin; p < end;) {
    const EncodedRun run = source_.layout.run(work.block->row->slot, stream, p, end);
    values_.accumulate({work.scores + token * group_ * kTile + (p - begin), kTile, tokens * group_,
                        source_.geometry.value.dim, sums},
                       run);
    p += run.count;
  }
}

void BlockAttention::store_outputs(const Work& work) const {
  const int64_t dim = source_.geometry.value.dim;
  const int64_t stride = args_.out_stride != 0 ? args_.out_stride : args_.heads * dim;
  for (int64_t q = 0; q < work.tokens * group_; ++q) {
    float* out = args_.out + (work.block->row->offset + work.block->begin + q / group_) * stride +
                 (work.block->kv_head * group_ + q % group_) * dim;
    tiles_.finish({work.total.max + q, work.total.sum + q, work.total.values + q * v_width_}, dim, out);
  }
}

}  // namespace kvern::state
