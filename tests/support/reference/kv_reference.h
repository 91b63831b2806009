// One row of a KV cache, obvious and slow: vectors kept as the codec rounds them, attention with the
// arithmetic of docs/numerics.md in scalar code (exact), or in double precision without any order (close).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "state/codec/codec.h"
#include "state/sequence/kv_cache.h"
#include "support/reference/half_reference.h"
#include "support/reference/lanes_reference.h"

namespace kvern::reference {

/// What the codec's stored form of x is worth.
inline float rounded_by(state::CodecId codec, float x) {
  switch (codec) {
    case state::CodecId::kF32:
      return x;
    case state::CodecId::kF16:
      return round_to(x, kHalf);
    case state::CodecId::kBF16:
      return round_to(x, kBfloat);
  }
  return std::numeric_limits<float>::quiet_NaN();
}

/// The keys and values of one row in one layer.
class KvReferenceRow {
 public:
  KvReferenceRow(const state::KvLayerSpec& spec, const state::KvOptions& options)
      : spec_(spec), options_(options) {}

  int64_t length() const { return static_cast<int64_t>(keys_.size()); }
  void truncate(int64_t length) {
    keys_.resize(static_cast<size_t>(length));
    values_.resize(static_cast<size_t>(length));
  }

  /// One token: k [kv_heads, k_dim], v [kv_heads, v_dim].
  void append(const float* k, const float* v) {
    keys_.emplace_back(k, k + spec_.kv_heads * spec_.k_dim);
    values_.emplace_back(v, v + spec_.kv_heads * spec_.v_dim);
    for (float& x : keys_.back()) x = rounded_by(options_.k_codec, x);
    for (float& x : values_.back()) x = rounded_by(options_.v_codec, x);
  }

  /// Attention of one query [k_dim] at `position` over positions 0..position, bit for bit: out [v_dim].
  void attend(const float* q, int64_t kv_head, int64_t position, float scale, float* out) const {
    State row(spec_.v_dim);
    for (int64_t span = 0; span <= position; span += 512) {
      State part(spec_.v_dim);
      for (int64_t tile = span; tile <= std::min(position, span + 511); tile += 64) {
        part.join(tile_state(q, kv_head, tile, std::min(position, tile + 63), scale));
      }
      row.join(part);
    }
    const float factor = 1.0F / row.sum;
    for (int64_t d = 0; d < spec_.v_dim; ++d) out[d] = row.values[static_cast<size_t>(d)] * factor;
  }

  /// The same in double precision.
  void attend_double(const float* q, int64_t kv_head, int64_t position, double scale, double* out) const {
    std::vector<double> weights;
    double max = -std::numeric_limits<double>::infinity();
    for (int64_t p = 0; p <= position; ++p) {
      double dot = 0.0;
      for (int64_t d = 0; d < spec_.k_dim; ++d) dot += static_cast<double>(q[d]) * key(p, kv_head)[d];
      weights.push_back(dot * scale);
      max = std::max(max, weights.back());
    }
    double sum = 0.0;
    for (double& w : weights) sum += w = std::exp(w - max);
    for (int64_t d = 0; d < spec_.v_dim; ++d) {
      out[d] = 0.0;
      for (int64_t p = 0; p <= position; ++p)
        out[d] += weights[static_cast<size_t>(p)] / sum * value(p, kv_head)[d];
    }
  }

 private:
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

  const float* key(int64_t position, int64_t head) const {
    return keys_[static_cast<size_t>(position)].data() + head * spec_.k_dim;
  }
  const float* value(int64_t position, int64_t head) const {
    return values_[static_cast<size_t>(position)].data() + head * spec_.v_dim;
  }

  // Positions [first, last] of one tile.
  State tile_state(const float* q, int64_t kv_head, int64_t first, int64_t last, float scale) const {
    State state(spec_.v_dim);
    const auto dim = static_cast<size_t>(spec_.k_dim);
    std::vector<float> scores;
    for (int64_t p = first; p <= last; ++p) {
      scores.push_back(lanes_dot({q, dim}, {key(p, kv_head), dim}) * scale);
      state.max = std::max(state.max, scores.back());
    }
    std::array<float, 16> sums{};
    for (size_t i = 0; i < scores.size(); ++i) {
      const float weight = exp_weight(scores[i] - state.max);
      sums[i % 16] += weight;
      const float* v = value(first + static_cast<int64_t>(i), kv_head);
      for (size_t d = 0; d < state.values.size(); ++d)
        state.values[d] = std::fmaf(weight, v[d], state.values[d]);
    }
    state.sum = tree_sum(sums);
    return state;
  }

  state::KvLayerSpec spec_;
  state::KvOptions options_;
  std::vector<std::vector<float>> keys_;    // [position][kv_heads * k_dim]
  std::vector<std::vector<float>> values_;  // [position][kv_heads * v_dim]
};

}  // namespace kvern::reference
