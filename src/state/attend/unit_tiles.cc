// One tile of a unit: by the codec's kernels, or decoded or unpacked for many queries.
#include <algorithm>
#include <limits>

#include "state/attend/unit.h"
#include "state/planted_fault.h"

namespace kvern::state {
namespace {

// Stored tiles are fetched this much before they are used: about 2 us, some times the latency of memory.
constexpr int64_t kAhead = 2 * kTile;
constexpr float kUnseen = -std::numeric_limits<float>::infinity();

}  // namespace

void UnitAttention::add_span(const Work& work, int64_t span, const Partial& into) const {
  const int64_t end = std::min((span + 1) * kSpan, work.first + work.tokens);
  for (int64_t tile = span * kSpan; tile < end; tile += kTile) add_tile(work, tile, into);
  if (planted(Fault::kTileMergedTwice)) add_tile(work, span * kSpan, into);
}

void UnitAttention::add_tile(const Work& work, int64_t tile, const Partial& into) const {
  for (TileCache& cache : work.cache) cache.piece = {};
  Part part{.tile = tile, .begin = std::max<int64_t>(0, tile - work.first), .end = 0, .pieces = {}};
  for (; part.begin < work.tokens; part.begin = part.end) {
    part.pieces = seen_of_tile(work, part, part.begin);
    part.end = end_of_block(work, part);
    if ((part.end - part.begin) * group_ >= kManyQueries) {
      add_block(work, part, into);
      continue;
    }
    part.end = end_of_equal(work, part);
    if (!part.pieces.empty()) add_part(work, part, into);
  }
}

// What a token of the unit sees of the part's tile.
KvPieces UnitAttention::seen_of_tile(const Work& work, const Part& part, int64_t token) const {
  return work.seen[static_cast<size_t>(token)].clip(part.tile, part.tile + kTile);
}

// The end of the tokens from part.begin on that see exactly the part's pieces.
int64_t UnitAttention::end_of_equal(const Work& work, const Part& part) const {
  if (part.begin + 1 == work.tokens) return work.tokens;
  // Both ends of a window only move forward: when the last token sees the same, all between do. Not so where
  // sinks stay behind.
  const bool moves_forward = part.tile >= source_.view.sinks && !part.pieces.empty();
  if (moves_forward && seen_of_tile(work, part, work.tokens - 1) == part.pieces) return work.tokens;
  int64_t end = part.begin + 1;
  while (end < work.tokens && seen_of_tile(work, part, end) == part.pieces) ++end;
  return end;
}

// The end of the tokens from part.begin on that see one piece of floats with the part's beginning and form,
// none less of it than the one before; part.begin where there is none.
int64_t UnitAttention::end_of_block(const Work& work, const Part& part) const {
  if (!work.many || part.pieces.span().size() != 1) return part.begin;
  const KvPiece& piece = part.pieces.front();
  if (kernels(piece.form, KvSide::kKey).unpacked != nullptr ||
      kernels(piece.form, KvSide::kValue).unpacked != nullptr) {
    return part.begin;
  }
  int64_t most = piece.end;
  const auto fits = [&](int64_t token) {
    const KvPieces pieces = seen_of_tile(work, part, token);
    if (pieces.span().size() != 1 || pieces.front().begin != piece.begin ||
        pieces.front().form != piece.form || pieces.front().end < most) {
      return false;
    }
    most = pieces.front().end;
    return true;
  };
  if (part.tile >= source_.view.sinks && fits(work.tokens - 1)) return work.tokens;
  int64_t end = part.begin + 1;
  while (end < work.tokens && fits(end)) ++end;
  return end;
}

// Tokens that see the same pieces, by kernels on stored or unpacked vectors.
void UnitAttention::add_part(const Work& work, const Part& part, const Partial& into) const {
  const int64_t q = part.begin * group_;
  const int64_t queries = (part.end - part.begin) * group_;
  float* scores = work.scores + q * kTile;
  for (const KvPiece& piece : part.pieces.span()) {
    const SideKernels& k = kernels(piece.form, KvSide::kKey);
    const EncodedRuns keys = piece_runs(work, part, piece, KvSide::kKey);
    const EncodedRuns next = next_runs(work, part, piece, KvSide::kKey);
    const size_t query_bytes =
        k.query_bytes != 0 ? k.query_bytes : static_cast<size_t>(k_width_) * sizeof(float);
    const auto* kernel = work.many && k.unpacked != nullptr ? k.unpacked : k.codec;
    const SideGeometry& geometry = source_.store(piece.form).side(KvSide::kKey);
    kernel->scores({work.prepared[static_cast<size_t>(piece.form)] + static_cast<size_t>(q) * query_bytes,
                    queries, geometry.shape(), scores + (piece.begin - part.tile), kTile, next},
                   keys);
  }
  auto count = static_cast<int32_t>(part.pieces.back().end - part.tile);
  if (planted(Fault::kSoftmaxCount) && part.pieces.back().end > part.pieces.back().begin + 1) --count;
  std::fill_n(work.counts + q, queries, count);
  hide_unseen(work, part);
  softmax(work, part, into);
  float* sums = work.tile.values + q * v_width_;
  std::fill_n(sums, queries * v_width_, 0.0F);
  for (const KvPiece& piece : part.pieces.span()) {
    const SideKernels& k = kernels(piece.form, KvSide::kValue);
    const EncodedRuns values = piece_runs(work, part, piece, KvSide::kValue);
    const EncodedRuns next = next_runs(work, part, piece, KvSide::kValue);
    const auto* kernel = work.many && k.unpacked != nullptr ? k.unpacked : k.codec;
    kernel->accumulate({scores + (piece.begin - part.tile), kTile, queries,
                        source_.store(piece.form).side(KvSide::kValue).shape(), sums, next},
                       values);
  }
  for (int64_t i = q; i < q + queries; ++i) {
    tiles_.blend(into.values + i * v_width_, work.tile.values + i * v_width_, v_width_, work.factors.keep[i],
                 work.factors.gain[i]);
  }
}

// Many tokens that see one piece of floats, each up to its own end: f32 kernels on the decoded tile.
void UnitAttention::add_block(const Work& work, const Part& part, const Partial& into) const {
  const int64_t q = part.begin * group_;
  const int64_t queries = (part.end - part.begin) * group_;
  for (int64_t token = part.begin; token < part.end; ++token) {
    const int64_t last = planted(Fault::kFutureSeen) ? part.end - 1 : token;
    const int64_t count = seen_of_tile(work, part, last).back().end - part.tile;
    std::fill_n(work.counts + token * group_, group_, static_cast<int32_t>(count));
  }
  const int64_t key_count = work.counts[part.end * group_ - 1];
  blocks_.transpose(decoded_tile(work, part, KvSide::kKey), key_count, k_width_, work.keys_transposed);
  blocks_.scores({.queries = work.queries + q * k_width_,
                  .count = queries,
                  .width = k_width_,
                  .keys = work.keys_transposed,
                  .key_count = key_count,
                  .scores = work.scores + q * kTile});
  hide_unseen(work, part);
  softmax(work, part, into);
  blocks_.values({.weights = work.scores + q * kTile,
                  .counts = work.counts + q,
                  .count = queries,
                  .width = v_width_,
                  .values = decoded_tile(work, part, KvSide::kValue),
                  .factors = {work.factors.keep + q, work.factors.gain + q},
                  .sums = into.values + q * v_width_});
}

// Scores of positions of the tile that the part's tokens do not see, before and between its pieces.
void UnitAttention::hide_unseen(const Work& work, const Part& part) const {
  int64_t end = part.tile;
  for (const KvPiece& piece : part.pieces.span()) {
    for (int64_t q = part.begin * group_; piece.begin > end && q < part.end * group_; ++q) {
      float* scores = work.scores + q * kTile;
      std::fill(scores + (end - part.tile), scores + (piece.begin - part.tile), kUnseen);
    }
    end = piece.end;
  }
}

// Weights of the part's queries from their scores, and the factors with which the tile joins `into`.
void UnitAttention::softmax(const Work& work, const Part& part, const Partial& into) const {
  const int64_t q = part.begin * group_;
  const int64_t queries = (part.end - part.begin) * group_;
  const SoftmaxState tile{work.tile.state.max + q, work.tile.state.sum + q};
  tiles_.softmax({work.scores + q * kTile, work.counts + q, queries, {args_.scale, args_.softcap}, tile});
  tiles_.join({into.state.max + q, into.state.sum + q}, tile, queries,
              {work.factors.keep + q, work.factors.gain + q});
}

// The vectors of a piece: in storage, or unpacked when many queries read them.
EncodedRuns UnitAttention::piece_runs(const Work& work, const Part& part, const KvPiece& piece,
                                      KvSide side) const {
  Place& place = work.places[static_cast<size_t>(side)][static_cast<size_t>(part.tile / kTile) % kPlaces];
  if (work.many && kernels(piece.form, side).unpacked != nullptr) {
    place.piece = {};
    place.runs.clear();
    place.runs.push(unpacked_run(work, part, piece, side));
  } else if (place.piece != piece) {
    place.piece = piece;
    place.runs.clear();
    collect(work, piece, side, place.runs);
  }
  return place.runs;
}

// Unpacks as much of the tile as the unit's last token sees together with the piece, so that a diagonal tile
// is unpacked once for all its tokens.
EncodedRun UnitAttention::unpacked_run(const Work& work, const Part& part, const KvPiece& piece,
                                       KvSide side) const {
  TileCache& cache = work.cache[static_cast<size_t>(side)];
  const SideKernels& k = kernels(piece.form, side);
  const auto run_at = [&](int64_t position, int64_t count) {
    EncodedRun run{.planes = {}, .count = count};
    std::byte* plane = cache.memory;
    for (size_t p = 0; p < static_cast<size_t>(k.tile.planes()); ++p) {
      run.planes[p] = plane + static_cast<size_t>(position - part.tile) * k.tile.record_bytes[p];
      plane += (kTile * k.tile.record_bytes[p] + 63) / 64 * 64;
    }
    return run;
  };
  if (cache.piece.form != piece.form || piece.begin < cache.piece.begin || piece.end > cache.piece.end) {
    cache.piece = piece;
    const KvPieces seen_last = seen_of_tile(work, part, work.tokens - 1);
    for (const KvPiece& last : seen_last.span()) {
      if (last.form == piece.form && last.begin <= piece.begin && last.end > piece.end) {
        cache.piece.end = last.end;
      }
    }
    RunList stored;
    collect(work, cache.piece, side, stored);
    const VectorShape shape = source_.store(piece.form).side(side).shape();
    int64_t position = cache.piece.begin;
    for (const EncodedRun& run : EncodedRuns(stored)) {
      k.codec->unpack(shape, run, run_at(position, run.count));
      position += run.count;
    }
  }
  return run_at(piece.begin, piece.end - piece.begin);
}

// The part's one piece, up to the end that its last token sees, as floats at their places in the tile; zeros
// before it.
float* UnitAttention::decoded_tile(const Work& work, const Part& part, KvSide side) const {
  const KvPiece& piece = part.pieces.front();
  const SideGeometry& geometry = source_.store(piece.form).side(side);
  const int64_t width = padded(geometry.dim);
  const int64_t end = seen_of_tile(work, part, part.end - 1).back().end;
  auto* tile = reinterpret_cast<float*>(work.cache[static_cast<size_t>(side)].memory);
  work.cache[static_cast<size_t>(side)].piece = {};
  std::fill_n(tile, (piece.begin - part.tile) * width, 0.0F);
  float* out = tile + (piece.begin - part.tile) * width;
  RunList runs;
  collect(work, {piece.begin, end, piece.form}, side, runs);
  for (const EncodedRun& run : EncodedRuns(runs)) {
    kernels(piece.form, side).codec->decode(geometry.shape(), run, out);
    out += run.count * width;
  }
  return tile;
}

void UnitAttention::collect(const Work& work, const KvPiece& piece, KvSide side, RunList& runs) const {
  const AttendStore& store = source_.store(piece.form);
  store.layout->collect(work.unit->row->slots[static_cast<size_t>(piece.form)],
                        {store.layer, work.unit->kv_head, side}, piece.begin, piece.end, runs);
  if (planted(Fault::kScaleOfNeighbour) && store.side(side).planes() > 1) {
    for (EncodedRun& run : runs.runs()) run.planes[1] += store.side(side).record_bytes[1];
  }
}

// What to fetch into the cache while the piece is read: its counterpart some tiles later, if that is stored
// in the same form.
EncodedRuns UnitAttention::next_runs(const Work& work, const Part& part, const KvPiece& piece,
                                     KvSide side) const {
  if (work.many) return {};
  const int64_t tile = part.tile + kAhead;
  for (const KvPiece& ahead : work.seen[static_cast<size_t>(part.begin)].span()) {
    const KvPiece next{std::max(ahead.begin, tile), std::min(ahead.end, tile + kTile), ahead.form};
    if (ahead.form != piece.form || next.begin >= next.end) continue;
    Place& place = work.places[static_cast<size_t>(side)][static_cast<size_t>(tile / kTile) % kPlaces];
    if (place.piece != next) {
      place.piece = next;
      place.runs.clear();
      collect(work, next, side, place.runs);
    }
    return place.runs;
  }
  return {};
}

}  // namespace kvern::state
