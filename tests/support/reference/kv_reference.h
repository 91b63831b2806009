// One row of a KV cache, obvious and slow: every vector is kept in every form, and each query looks at every
// position of the row and asks whether and in which form it sees it. Attention with the arithmetic of
// docs/numerics.md in scalar code (exact), or in double precision without any order (close).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "state/codec/kv_type.h"
#include "state/sequence/kv_spec.h"
#include "support/reference/codec_reference.h"
#include "support/reference/lanes_reference.h"

namespace kvern::reference {

/// What attention does beside scaling.
struct LogitRule {
  float scale = 1.0F;
  float softcap = 0.0F;
  const float* sink_logit = nullptr;
};

/// The keys and values of one row in one layer.
class KvReferenceRow {
 public:
  KvReferenceRow(const state::KvLayerSpec& spec, const state::KvTypes& types,
                 const state::KvPrecision& precision)
      : spec_(spec), precision_(precision) {
    const auto side = [&](const state::KvType& type, int64_t dim) {
      const state::SideCodec resolved = *state::resolve(type, dim);
      return Side{dim, resolved.codec, state::resolve(precision.full, dim)->codec, resolved.rotation};
    };
    sides_[0] = side(types.k, spec.k_dim);
    sides_[1] = side(types.v, spec.v_dim);
    const auto is_float = [](const state::KvType& type) {
      return type.kind == state::CodecKind::kF32 || type.kind == state::CodecKind::kF16 ||
             type.kind == state::CodecKind::kBF16;
    };
    mixed_ = precision.mixed() && !(is_float(types.k) && is_float(types.v));
  }

  int64_t length() const { return static_cast<int64_t>(tokens_.size()); }
  void truncate(int64_t length) { tokens_.resize(static_cast<size_t>(length)); }

  /// One token: k [kv_heads, k_dim], v [kv_heads, v_dim].
  void append(const float* k, const float* v) {
    auto token = std::make_shared<Token>();
    const float* from[2] = {k, v};
    for (size_t s = 0; s < 2; ++s) {
      for (int64_t h = 0; h < spec_.kv_heads; ++h) {
        token->sides[s].push_back(
            stored(sides_[s], {from[s] + h * sides_[s].dim, static_cast<size_t>(sides_[s].dim)}));
      }
    }
    tokens_.push_back(std::move(token));
  }

  bool sees(int64_t query, int64_t position) const {
    return position <= query &&
           (spec_.window == 0 || position > query - spec_.window || position < spec_.sinks);
  }
  bool sees_in_full(int64_t query, int64_t position) const {
    return mixed_ && (query < precision_.quant_start || position < precision_.keep_first ||
                      position > query - precision_.keep_last);
  }

  /// Attention of one query [k_dim] at `position`, bit for bit: out [v_dim].
  void attend(const float* q, int64_t kv_head, int64_t position, const LogitRule& rule, float* out) const {
    const Query query = read_query_of(q);
    State row(spec_.v_dim);
    for (int64_t span = 0; span <= position; span += 512) {
      State part(spec_.v_dim);
      bool seen = false;
      for (int64_t tile = span; tile <= std::min(position, span + 511); tile += 64) {
        const std::vector<Piece> pieces = pieces_of(position, tile);
        if (pieces.empty()) continue;
        part.join(tile_state(query, kv_head, tile, pieces, rule));
        seen = true;
      }
      if (seen) row.join(part);
    }
    if (rule.sink_logit != nullptr) {
      State sink(spec_.v_dim);
      sink.max = *rule.sink_logit;
      sink.sum = 1.0F;
      row.join(sink);
    }
    const float factor = 1.0F / row.sum;
    for (int64_t d = 0; d < spec_.v_dim; ++d) out[d] = row.values[static_cast<size_t>(d)] * factor;
    unrotate(sides_[1].rotation, {out, static_cast<size_t>(spec_.v_dim)});
  }

  /// The same in double precision, over decoded vectors.
  void attend_double(const float* q, int64_t kv_head, int64_t position, const LogitRule& rule,
                     double* out) const {
    std::vector<float> query(q, q + spec_.k_dim);
    rotate(sides_[0].rotation, query);
    std::vector<double> weights;
    std::vector<std::vector<float>> values;
    double max = rule.sink_logit != nullptr ? *rule.sink_logit : -std::numeric_limits<double>::infinity();
    for (int64_t p = 0; p <= position; ++p) {
      if (!sees(position, p)) continue;
      const std::vector<float> key = decoded(0, p, kv_head, sees_in_full(position, p));
      values.push_back(decoded(1, p, kv_head, sees_in_full(position, p)));
      double dot = 0.0;
      for (size_t d = 0; d < key.size(); ++d) dot += static_cast<double>(query[d]) * key[d];
      double logit = dot * rule.scale;
      if (rule.softcap != 0.0F) logit = rule.softcap * std::tanh(logit / rule.softcap);
      weights.push_back(logit);
      max = std::max(max, logit);
    }
    double sum = rule.sink_logit != nullptr ? std::exp(*rule.sink_logit - max) : 0.0;
    for (double& w : weights) sum += w = std::exp(w - max);
    std::vector<float> mixed(static_cast<size_t>(spec_.v_dim));
    for (size_t d = 0; d < mixed.size(); ++d) {
      double value = 0.0;
      for (size_t i = 0; i < weights.size(); ++i) value += weights[i] / sum * values[i][d];
      mixed[d] = static_cast<float>(value);
    }
    unrotate(sides_[1].rotation, mixed);
    std::copy(mixed.begin(), mixed.end(), out);
  }

 private:
  // One head's vector in both forms.
  struct Stored {
    ReadVector encoded;
    ReadVector full;
  };
  // Never changes once made, so rows may share it.
  struct Token {
    std::vector<Stored> sides[2];  // [kv_head]
  };
  struct Query {
    ReadQuery encoded;
    ReadQuery full;
  };
  struct Side {
    int64_t dim = 0;
    const state::Codec* codec = nullptr;
    const state::Codec* full = nullptr;
    state::Rotation rotation = state::Rotation::kNone;
  };
  // Positions [begin, end) that a query sees, all in one form.
  struct Piece {
    int64_t begin;
    int64_t end;
    bool full;
  };
  struct State {
    explicit State(int64_t dim) : values(static_cast<size_t>(dim), 0.0F) {}
    void join(const State& next) {
      const float old = max;
      max = std::max(old, next.max);
      const float keep = exp_weight(old - max);
      const float gain = exp_weight(next.max - max);
      sum = std::fmaf(next.sum, gain, sum * keep);
      for (size_t d = 0; d < values.size(); ++d)
        values[d] = std::fmaf(next.values[d], gain, values[d] * keep);
    }
    float max = -std::numeric_limits<float>::infinity();
    float sum = 0.0F;
    std::vector<float> values;
  };

  Stored stored(const Side& side, std::span<const float> x) const {
    std::vector<float> vector(x.begin(), x.end());
    rotate(side.rotation, vector);
    Stored result;
    if (mixed_) {
      const StoredVector full = encode(*side.full, vector);
      vector = decode(*side.full, full, side.dim);
      result.full = read(*side.full, full, side.dim);
    }
    result.encoded = read(*side.codec, encode(*side.codec, vector), side.dim);
    return result;
  }

  Query read_query_of(const float* q) const {
    std::vector<float> query(q, q + spec_.k_dim);
    rotate(sides_[0].rotation, query);
    return {read_query(*sides_[0].codec, query), mixed_ ? read_query(*sides_[0].full, query) : ReadQuery{}};
  }

  const Stored& at(size_t side, int64_t position, int64_t head) const {
    return tokens_[static_cast<size_t>(position)]->sides[side][static_cast<size_t>(head)];
  }
  std::vector<float> decoded(size_t side, int64_t position, int64_t head, bool full) const {
    const ReadVector& vector = full ? at(side, position, head).full : at(side, position, head).encoded;
    if (vector.codes.empty()) return vector.numbers;
    std::vector<float> numbers;
    for (const int32_t code : vector.codes) {
      const size_t per_group = vector.codes.size() / vector.groups.size();
      const ReadVector::Group& group = vector.groups[numbers.size() / per_group];
      numbers.push_back(std::fmaf(group.scale, static_cast<float>(code), group.bias));
    }
    return numbers;
  }

  std::vector<Piece> pieces_of(int64_t query, int64_t tile) const {
    std::vector<Piece> pieces;
    for (int64_t p = tile; p < tile + 64; ++p) {
      if (!sees(query, p)) continue;
      const bool full = sees_in_full(query, p);
      if (!pieces.empty() && pieces.back().end == p && pieces.back().full == full) {
        ++pieces.back().end;
      } else {
        pieces.push_back({p, p + 1, full});
      }
    }
    return pieces;
  }

  static float capped(float score, const LogitRule& rule) {
    const float s = score * rule.scale;
    return rule.softcap == 0.0F ? s : rule.softcap * tanh_reference(s * (1.0F / rule.softcap));
  }

  State tile_state(const Query& q, int64_t head, int64_t tile, const std::vector<Piece>& pieces,
                   const LogitRule& rule) const {
    State state(spec_.v_dim);
    std::vector<std::vector<float>> weights;
    for (const Piece& piece : pieces) {
      auto& logits = weights.emplace_back();
      for (int64_t p = piece.begin; p < piece.end; ++p) {
        const Stored& key = at(0, p, head);
        const float dot = piece.full ? score(*sides_[0].full, q.full, key.full)
                                     : score(*sides_[0].codec, q.encoded, key.encoded);
        logits.push_back(capped(dot, rule));
        state.max = std::max(state.max, logits.back());
      }
    }
    std::array<float, 16> sums{};
    for (size_t i = 0; i < pieces.size(); ++i) {
      std::vector<const ReadVector*> values;
      for (int64_t p = pieces[i].begin; p < pieces[i].end; ++p) {
        float& weight = weights[i][static_cast<size_t>(p - pieces[i].begin)];
        weight = exp_weight(weight - state.max);
        sums[static_cast<size_t>((p - tile) % 16)] += weight;
        const Stored& value = at(1, p, head);
        values.push_back(pieces[i].full ? &value.full : &value.encoded);
      }
      accumulate(pieces[i].full ? *sides_[1].full : *sides_[1].codec, weights[i], values, state.values);
    }
    state.sum = tree_sum(sums);
    return state;
  }

  state::KvLayerSpec spec_;
  state::KvPrecision precision_;
  bool mixed_ = false;
  Side sides_[2];
  std::vector<std::shared_ptr<const Token>> tokens_;
};

}  // namespace kvern::reference
