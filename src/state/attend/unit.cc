#include "state/attend/unit.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kvern::state {

UnitAttention::UnitAttention(const compute::Context& context, const AttendSource& source,
                             const AttendArgs& args)
    : source_(source),
      args_(args),
      group_(args.heads / source.geometry.kv_heads),
      k_width_(padded(source.geometry.key.dim)),
      v_width_(padded(source.geometry.value.dim)),
      tiles_(tile_kernels(context.target())),
      blocks_(block_kernels(context.target())),
      keys_(source.geometry.key.codec->kernels(context.target())),
      values_(source.geometry.value.codec->kernels(context.target())) {}

int64_t UnitAttention::partial_floats(int64_t tokens) const {
  return 2 * padded(tokens * group_) + tokens * group_ * v_width_;
}

Partial UnitAttention::partial_at(float* memory, int64_t tokens) const {
  const int64_t state = padded(tokens * group_);
  return {{memory, memory + state}, memory + 2 * state};
}

UnitAttention::Work UnitAttention::make_work(const AttendUnit& unit, compute::Scratch& scratch) const {
  Work work;
  work.unit = &unit;
  work.tokens = unit.tokens();
  work.first = unit.first_position();
  work.decoded = work.tokens * group_ >= kDecodedQueries;
  const int64_t queries = work.tokens * group_;
  const int64_t state = padded(queries);  // keeps all arrays aligned
  const int64_t partial = partial_floats(work.tokens);
  const int64_t floats =
      queries * (k_width_ + kTile) + 3 * state + kTile * (2 * k_width_ + v_width_) + 3 * partial;
  auto* next = reinterpret_cast<float*>(scratch.get(static_cast<size_t>(floats) * sizeof(float)));
  const auto take = [&](int64_t count) { return std::exchange(next, next + count); };
  work.queries = take(queries * k_width_);
  work.scores = take(queries * kTile);
  work.keys = take(kTile * k_width_);
  work.keys_transposed = take(kTile * k_width_);
  work.values = take(kTile * v_width_);
  work.tile = partial_at(take(partial), work.tokens);
  work.span = partial_at(take(partial), work.tokens);
  work.total = partial_at(take(partial), work.tokens);
  work.factors = {take(state), take(state)};
  work.counts = reinterpret_cast<int32_t*>(take(state));
  load_queries(work);
  return work;
}

void UnitAttention::load_queries(const Work& work) const {
  const int64_t dim = source_.geometry.key.dim;
  const int64_t stride = args_.q_stride != 0 ? args_.q_stride : args_.heads * dim;
  for (int64_t t = 0; t < work.tokens; ++t) {
    const float* from = args_.q + (work.unit->row->offset + work.unit->begin + t) * stride +
                        work.unit->kv_head * group_ * dim;
    for (int64_t h = 0; h < group_; ++h) {
      float* to = work.queries + (t * group_ + h) * k_width_;
      std::copy_n(from + h * dim, dim, to);
      std::fill(to + dim, to + k_width_, 0.0F);
    }
  }
}

void UnitAttention::clear(const Partial& partial, int64_t tokens) const {
  const int64_t queries = tokens * group_;
  std::fill_n(partial.state.max, padded(queries), -std::numeric_limits<float>::infinity());
  std::fill_n(partial.state.sum, padded(queries), 0.0F);
  std::fill_n(partial.values, queries * v_width_, 0.0F);
}

void UnitAttention::run(const AttendUnit& unit, compute::Scratch& scratch) const {
  const Work work = make_work(unit, scratch);
  clear(work.total, work.tokens);
  for (int64_t span = 0; span < unit.spans(); ++span) {
    clear(work.span, work.tokens);
    add_span(work, span, work.span);
    merge(work, work.total, work.span, std::max<int64_t>(0, span * kSpan - work.first) * group_);
  }
  store_outputs(work, work.total);
}

void UnitAttention::run_spans(const AttendUnit& unit, const AttendTask& task, compute::Scratch& scratch,
                              float* partials) const {
  const Work work = make_work(unit, scratch);
  for (int64_t span = task.first_span; span < task.last_span; ++span) {
    const Partial into =
        partial_at(partials + (span - task.first_span) * partial_floats(work.tokens), work.tokens);
    clear(into, work.tokens);
    add_span(work, span, into);
  }
}

void UnitAttention::finish(const AttendUnit& unit, compute::Scratch& scratch, float* partials) const {
  const Work work = make_work(unit, scratch);
  clear(work.total, work.tokens);
  for (int64_t span = 0; span < unit.spans(); ++span) {
    const Partial next = partial_at(partials + span * partial_floats(work.tokens), work.tokens);
    merge(work, work.total, next, std::max<int64_t>(0, span * kSpan - work.first) * group_);
  }
  store_outputs(work, work.total);
}

// Queries before first_query see nothing of `next` and must not be touched: a merge with nothing may change
// the sign of a zero.
void UnitAttention::merge(const Work& work, const Partial& into, const Partial& next,
                          int64_t first_query) const {
  const int64_t queries = work.tokens * group_;
  const auto from = [&](const SoftmaxState& s) {
    return SoftmaxState{s.max + first_query, s.sum + first_query};
  };
  tiles_.join(from(into.state), from(next.state), queries - first_query,
              {work.factors.keep + first_query, work.factors.gain + first_query});
  for (int64_t q = first_query; q < queries; ++q) {
    tiles_.blend(into.values + q * v_width_, next.values + q * v_width_, v_width_, work.factors.keep[q],
                 work.factors.gain[q]);
  }
}

void UnitAttention::add_span(const Work& work, int64_t span, const Partial& into) const {
  const int64_t end = std::min((span + 1) * kSpan, work.first + work.tokens);
  for (int64_t tile = span * kSpan; tile < end; tile += kTile) {
    const int64_t tile_end = std::min(end, tile + kTile);
    if (work.decoded) {
      add_tile_decoded(work, tile, tile_end, into);
    } else {
      add_tile_encoded(work, tile, tile_end, into);
    }
  }
}

void UnitAttention::store_outputs(const Work& work, const Partial& from) const {
  const int64_t dim = source_.geometry.value.dim;
  const int64_t stride = args_.out_stride != 0 ? args_.out_stride : args_.heads * dim;
  for (int64_t q = 0; q < work.tokens * group_; ++q) {
    float* out = args_.out + (work.unit->row->offset + work.unit->begin + q / group_) * stride +
                 (work.unit->kv_head * group_ + q % group_) * dim;
    tiles_.finish(from.values + q * v_width_, from.state.sum[q], dim, out);
  }
}

}  // namespace kvern::state
