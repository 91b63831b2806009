#include "state/attend/unit.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "state/planted_fault.h"

namespace kvern::state {
namespace {

// Cuts one piece of scratch memory into aligned arrays; with a null base it only counts.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}
  template <typename T>
  T* take(int64_t count) {
    std::byte* at = base_ == nullptr ? nullptr : base_ + used_;
    used_ += (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return reinterpret_cast<T*>(at);
  }
  size_t used() const { return used_; }

 private:
  std::byte* base_;
  size_t used_ = 0;
};

}  // namespace

UnitAttention::UnitAttention(const compute::Context& context, const AttendSource& source,
                             const AttendArgs& args)
    : source_(source),
      args_(args),
      group_(args.heads / source.geometry().kv_heads),
      k_width_(padded(source.geometry().key.dim)),
      v_width_(padded(source.geometry().value.dim)),
      tiles_(tile_kernels(context.target())),
      blocks_(block_kernels(context.target())) {
  const compute::CpuTarget target = context.target();
  for (const KvForm form : {KvForm::kEncoded, KvForm::kFull}) {
    if (source.store(form).layout == nullptr) continue;
    for (const KvSide side : {KvSide::kKey, KvSide::kValue}) {
      kernels_[static_cast<size_t>(form)][static_cast<size_t>(side)] = side_kernels(form, side, target);
    }
  }
  const LayerGeometry& geometry = source.geometry();
  if (geometry.key.rotation != Rotation::kNone) {
    rotate_keys_ = rotation_kernels(geometry.key.rotation, target);
  }
  if (geometry.value.rotation != Rotation::kNone) {
    rotate_values_ = rotation_kernels(geometry.value.rotation, target);
  }
}

UnitAttention::SideKernels UnitAttention::side_kernels(KvForm form, KvSide side,
                                                       compute::CpuTarget target) const {
  const SideGeometry& geometry = source_.store(form).side(side);
  SideKernels result{.codec = &geometry.codec->kernels(target)};
  if (const Codec* unpacked = geometry.codec->unpacked; unpacked != nullptr) {
    result.unpacked = &unpacked->kernels(target);
    result.query_bytes = result.codec->query_bytes(geometry.shape());
    result.tile = make_side_geometry(*unpacked, geometry.rotation, geometry.dim);
  }
  return result;
}

int64_t UnitAttention::partial_floats(int64_t tokens) const {
  return 2 * padded(tokens * group_) + tokens * group_ * v_width_;
}

Partial UnitAttention::partial_at(float* memory, int64_t tokens) const {
  if (memory == nullptr) return {};  // space is only counted
  const int64_t state = padded(tokens * group_);
  return {{memory, memory + state}, memory + 2 * state};
}

UnitAttention::Work UnitAttention::make_work(const AttendUnit& unit, compute::Scratch& scratch) const {
  Work work;
  work.unit = &unit;
  work.tokens = unit.tokens();
  work.first = unit.first_position();
  work.many = work.tokens * group_ >= kManyQueries;
  const int64_t queries = work.tokens * group_;
  const auto carve = [&](Carver carver) {
    work.seen = {carver.take<KvPieces>(work.tokens), static_cast<size_t>(work.tokens)};
    work.queries = carver.take<float>(queries * k_width_);
    for (size_t form = 0; form < kKvForms; ++form) {
      const size_t bytes = kernels_[form][0].query_bytes;
      work.prepared[form] = carver.take<std::byte>(queries * static_cast<int64_t>(bytes));
    }
    work.scores = carver.take<float>(queries * kTile);
    work.keys_transposed = carver.take<float>(kKeyStride * k_width_);
    for (const KvSide side : {KvSide::kKey, KvSide::kValue}) {
      const int64_t width = side == KvSide::kKey ? k_width_ : v_width_;
      size_t bytes = sizeof(float) * static_cast<size_t>(kTile * width);
      for (size_t form = 0; form < kKvForms; ++form) {
        const SideKernels& k = kernels_[form][static_cast<size_t>(side)];
        if (k.unpacked != nullptr) bytes = std::max(bytes, (k.tile.bytes() + 64) * kTile);
      }
      work.cache[static_cast<size_t>(side)].memory = carver.take<std::byte>(static_cast<int64_t>(bytes));
    }
    for (Partial* partial : {&work.tile, &work.span, &work.total}) {
      *partial = partial_at(carver.take<float>(partial_floats(work.tokens)), work.tokens);
    }
    work.factors = {carver.take<float>(padded(queries)), carver.take<float>(padded(queries))};
    work.counts = carver.take<int32_t>(padded(queries));
    return carver.used();
  };
  carve(Carver(scratch.get(carve(Carver(nullptr)))));
  KvView view = source_.view;
  if (planted(Fault::kBoundaryByStep) && unit.row->first < view.quant_start) {
    view.quant_start = unit.row->first + unit.row->tokens;
  }
  for (int64_t t = 0; t < work.tokens; ++t) {
    work.seen[static_cast<size_t>(t)] = view.pieces(work.first + t);
  }
  load_queries(work);
  return work;
}

// The queries in 16 lanes, rotated as the keys are, and prepared for each form's kernels.
void UnitAttention::load_queries(Work& work) const {
  const SideGeometry& key = source_.geometry().key;
  const int64_t stride = args_.q_stride != 0 ? args_.q_stride : args_.heads * key.dim;
  const int64_t queries = work.tokens * group_;
  for (int64_t t = 0; t < work.tokens; ++t) {
    const float* from = args_.q + (work.unit->row->offset + work.unit->begin + t) * stride +
                        work.unit->kv_head * group_ * key.dim;
    for (int64_t h = 0; h < group_; ++h) {
      float* to = work.queries + (t * group_ + h) * k_width_;
      std::copy_n(from + h * key.dim, key.dim, to);
      std::fill(to + key.dim, to + k_width_, 0.0F);
    }
  }
  if (rotate_keys_.forward != nullptr) rotate_keys_.forward({work.queries, queries, k_width_, key.dim});
  for (const KvForm form : {KvForm::kEncoded, KvForm::kFull}) {
    const SideKernels& k = kernels(form, KvSide::kKey);
    std::byte*& prepared = work.prepared[static_cast<size_t>(form)];
    if (k.query_bytes == 0) {
      prepared = reinterpret_cast<std::byte*>(work.queries);
    } else {
      k.codec->prepare({work.queries, queries, source_.store(form).side(KvSide::kKey).shape(), prepared});
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
  for (int64_t i = 0; i < unit.spans(); ++i) {
    clear(work.span, work.tokens);
    add_span(work, unit.span(i), work.span);
    merge_span(work, unit.span(i), work.span);
  }
  store_outputs(work);
}

void UnitAttention::run_spans(const AttendUnit& unit, const AttendTask& task, compute::Scratch& scratch,
                              float* partials) const {
  const Work work = make_work(unit, scratch);
  for (int64_t i = task.first_span; i < task.last_span; ++i) {
    const Partial into =
        partial_at(partials + (i - task.first_span) * partial_floats(work.tokens), work.tokens);
    clear(into, work.tokens);
    add_span(work, unit.span(i), into);
  }
}

void UnitAttention::finish(const AttendUnit& unit, compute::Scratch& scratch, float* partials) const {
  const Work work = make_work(unit, scratch);
  clear(work.total, work.tokens);
  for (int64_t n = 0; n < unit.spans(); ++n) {
    const int64_t i = planted(Fault::kSpansMergedBackwards) ? unit.spans() - 1 - n : n;
    merge_span(work, unit.span(i), partial_at(partials + i * partial_floats(work.tokens), work.tokens));
  }
  store_outputs(work);
}

// Tokens of the unit that see any of positions [begin, end). They are neighbours, since both ends of what a
// token sees only move forward.
std::pair<int64_t, int64_t> UnitAttention::tokens_that_see(const Work& work, int64_t begin,
                                                           int64_t end) const {
  const auto sees = [&](int64_t t) { return !work.seen[static_cast<size_t>(t)].clip(begin, end).empty(); };
  int64_t first = std::max<int64_t>(0, begin - work.first);
  while (first < work.tokens && !sees(first)) ++first;
  int64_t last = work.tokens;
  while (last > first && !sees(last - 1)) --last;
  return {first, last};
}

// Queries that see nothing of the span must not be touched: a merge with nothing may change the sign of a
// zero.
void UnitAttention::merge_span(const Work& work, int64_t span, const Partial& next) const {
  const auto [first, last] = tokens_that_see(work, span * kSpan, (span + 1) * kSpan);
  const int64_t begin = first * group_;
  const int64_t end = last * group_;
  const auto from = [&](const SoftmaxState& s) { return SoftmaxState{s.max + begin, s.sum + begin}; };
  tiles_.join(from(work.total.state), from(next.state), end - begin,
              {work.factors.keep + begin, work.factors.gain + begin});
  for (int64_t q = begin; q < end; ++q) {
    tiles_.blend(work.total.values + q * v_width_, next.values + q * v_width_, v_width_, work.factors.keep[q],
                 work.factors.gain[q]);
  }
}

// A sink logit is one more position with this logit and a value of zeros.
void UnitAttention::add_sink_logits(const Work& work) const {
  const int64_t queries = work.tokens * group_;
  clear(work.tile, work.tokens);
  for (int64_t q = 0; q < queries; ++q) {
    const int64_t first = planted(Fault::kSinkLogitOfOtherHead) ? 0 : work.unit->kv_head * group_;
    work.tile.state.max[q] = args_.sink_logits[first + q % group_];
    work.tile.state.sum[q] = 1.0F;
  }
  tiles_.join(work.total.state, work.tile.state, queries, work.factors);
  for (int64_t q = 0; q < queries; ++q) {
    tiles_.blend(work.total.values + q * v_width_, work.tile.values + q * v_width_, v_width_,
                 work.factors.keep[q], work.factors.gain[q]);
  }
}

void UnitAttention::store_outputs(const Work& work) const {
  if (args_.sink_logits != nullptr) add_sink_logits(work);
  const int64_t dim = source_.geometry().value.dim;
  const int64_t stride = args_.out_stride != 0 ? args_.out_stride : args_.heads * dim;
  for (int64_t t = 0; t < work.tokens; ++t) {
    float* out = args_.out + (work.unit->row->offset + work.unit->begin + t) * stride +
                 work.unit->kv_head * group_ * dim;
    for (int64_t h = 0; h < group_; ++h) {
      const int64_t q = t * group_ + h;
      tiles_.finish(work.total.values + q * v_width_, work.total.state.sum[q], dim, out + h * dim);
    }
    if (rotate_values_.inverse != nullptr) rotate_values_.inverse({out, group_, dim, dim});
  }
}

}  // namespace kvern::state
