// The same random steps through the public KvState and through the KvCache behind it.
#pragma once

#include <random>
#include <vector>

#include "kvern/state.h"
#include "state/sequence/kv_cache.h"

namespace kvern::test {

inline const std::vector<KvLayer> kTwinLayers = {
    {.kv_heads = 2, .k_dim = 64, .v_dim = 32},
    {.kv_heads = 1, .k_dim = 64, .v_dim = 64, .window = 24, .sinks = 3}};

/// Random floats of a step of `tokens` tokens in one layer with two query heads for each key/value head.
struct TwinArrays {
  TwinArrays(std::mt19937& random, const KvLayer& layer, int64_t tokens) : heads(2 * layer.kv_heads) {
    std::normal_distribution<float> normal;
    const auto fill = [&](std::vector<float>& array, int64_t width) {
      array.resize(static_cast<size_t>(tokens * width));
      for (float& x : array) x = normal(random);
    };
    fill(k, layer.kv_heads * layer.k_dim);
    fill(v, layer.kv_heads * layer.v_dim);
    fill(q, heads * layer.k_dim);
    out.resize(static_cast<size_t>(tokens * heads * layer.v_dim));
  }
  KvInput input() const { return {.k = k, .v = v}; }
  KvAttention attention() { return {.q = q, .out = out, .heads = heads}; }

  int64_t heads;
  std::vector<float> k, v, q, out;
};

}  // namespace kvern::test
