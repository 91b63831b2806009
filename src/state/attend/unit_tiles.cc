// One tile of a unit: by the codec's fused kernels, or decoded for many queries.
#include <algorithm>

#include "state/attend/unit.h"

namespace kvern::state {
namespace {

// Encoded tiles are fetched this much before they are used: about 2 us, some times the latency of memory.
constexpr int64_t kAhead = 2 * kTile;

}  // namespace

// Positions [begin, end) of one tile. Tokens that see all of them are handled together, earlier ones one by
// one.
void UnitAttention::add_tile_encoded(const Work& work, int64_t begin, int64_t end,
                                     const Partial& into) const {
  const int64_t see_all = std::clamp<int64_t>(end - 1 - work.first, 0, work.tokens);
  for (int64_t token = std::max<int64_t>(0, begin - work.first); token < see_all; ++token) {
    encoded_part(work, {token * group_, group_, begin, work.first + token + 1}, into);
  }
  encoded_part(work, {see_all * group_, (work.tokens - see_all) * group_, begin, end}, into);
}

void UnitAttention::encoded_part(const Work& work, const Part& part, const Partial& into) const {
  if (part.queries == 0) return;
  const int64_t q = part.first_query;
  float* scores = work.scores + q * kTile;
  for_runs(work, KvSide::kKey, part.begin, part.end, [&](const EncodedRun& run, int64_t offset) {
    keys_.scores({work.queries + q * k_width_, part.queries, source_.geometry.key.dim, scores + offset, kTile,
                  upcoming(work, KvSide::kKey, part.begin + offset + kAhead)},
                 run);
  });
  std::fill_n(work.counts + q, part.queries, static_cast<int32_t>(part.end - part.begin));
  softmax(work, part, into);
  float* sums = work.tile.values + q * v_width_;
  std::fill_n(sums, part.queries * v_width_, 0.0F);
  for_runs(work, KvSide::kValue, part.begin, part.end, [&](const EncodedRun& run, int64_t offset) {
    values_.accumulate({scores + offset, kTile, part.queries, source_.geometry.value.dim, sums,
                        upcoming(work, KvSide::kValue, part.begin + offset + kAhead)},
                       run);
  });
  for (int64_t i = q; i < q + part.queries; ++i) {
    tiles_.blend(into.values + i * v_width_, work.tile.values + i * v_width_, v_width_, work.factors.keep[i],
                 work.factors.gain[i]);
  }
}

// Weights of the part's queries from their scores, and the factors with which the tile joins `into`.
void UnitAttention::softmax(const Work& work, const Part& part, const Partial& into) const {
  const int64_t q = part.first_query;
  const SoftmaxState tile{work.tile.state.max + q, work.tile.state.sum + q};
  tiles_.softmax({work.scores + q * kTile, work.counts + q, part.queries, args_.scale, tile});
  tiles_.join({into.state.max + q, into.state.sum + q}, tile, part.queries,
              {work.factors.keep + q, work.factors.gain + q});
}

void UnitAttention::add_tile_decoded(const Work& work, int64_t begin, int64_t end,
                                     const Partial& into) const {
  const int64_t first_token = std::max<int64_t>(0, begin - work.first);
  const int64_t q = first_token * group_;
  const Part part{q, (work.tokens - first_token) * group_, begin, end};
  for (int64_t i = 0; i < part.queries; ++i) {
    const int64_t visible = work.first + (q + i) / group_ + 1 - begin;
    work.counts[q + i] = static_cast<int32_t>(std::min(visible, end - begin));
  }
  decode_tile(work, KvSide::kKey, begin, end, work.keys);
  blocks_.transpose(work.keys, end - begin, k_width_, work.keys_transposed);
  blocks_.scores({.queries = work.queries + q * k_width_,
                  .count = part.queries,
                  .width = k_width_,
                  .keys = work.keys_transposed,
                  .key_count = end - begin,
                  .scores = work.scores + q * kTile});
  softmax(work, part, into);
  decode_tile(work, KvSide::kValue, begin, end, work.values);
  blocks_.values({.weights = work.scores + q * kTile,
                  .counts = work.counts + q,
                  .count = part.queries,
                  .width = v_width_,
                  .values = work.values,
                  .factors = {work.factors.keep + q, work.factors.gain + q},
                  .sums = into.values + q * v_width_});
}

void UnitAttention::decode_tile(const Work& work, KvSide side, int64_t begin, int64_t end, float* out) const {
  const SideGeometry& geometry = source_.geometry.side(side);
  const CodecKernels& kernels = side == KvSide::kKey ? keys_ : values_;
  for_runs(work, side, begin, end, [&](const EncodedRun& run, int64_t offset) {
    kernels.decode(run, geometry.dim, out + offset * padded(geometry.dim));
  });
}

// Calls f(run, offset from begin) for the runs of positions [begin, end).
template <typename F>
void UnitAttention::for_runs(const Work& work, KvSide side, int64_t begin, int64_t end, const F& f) const {
  const StreamId stream{source_.layer, work.unit->kv_head, side};
  for (int64_t p = begin; p < end;) {
    const EncodedRun run = source_.layout.run(work.unit->row->slot, stream, p, end);
    f(run, p - begin);
    p += run.count;
  }
}

// Where the record of a later position lies, to be fetched early; null beyond the row.
const std::byte* UnitAttention::upcoming(const Work& work, KvSide side, int64_t position) const {
  if (position >= work.first + work.tokens) return nullptr;
  const StreamId stream{source_.layer, work.unit->kv_head, side};
  return source_.layout.run(work.unit->row->slot, stream, position, position + 1).planes[0];
}

}  // namespace kvern::state
