// The weights that Gemma 3n has beyond a dense decoder's.
#pragma once

#include <vector>

#include "base/result.h"
#include "compute/tensor/weight.h"
#include "model/config/model_config.h"
#include "model/weight_finder.h"

namespace kvern::model {

/// Of one layer. s = streams, e = layer_embedding, r = laurel_rank.
struct Gemma3nLayerWeights {
  compute::WeightMatrix router;         ///< [s, hidden]
  std::vector<float> router_norm;       ///< [hidden]
  compute::WeightMatrix prediction;     ///< [s * s, s]
  compute::WeightMatrix correction;     ///< [s, s]
  std::vector<float> correction_scale;  ///< [hidden]; empty where the active stream is not scaled

  compute::WeightMatrix laurel_left;   ///< [r, hidden]
  compute::WeightMatrix laurel_right;  ///< [hidden, r]
  std::vector<float> laurel_norm;      ///< [hidden]

  compute::WeightMatrix embedding_gate;    ///< [e, hidden]
  compute::WeightMatrix embedding_output;  ///< [hidden, e]
  std::vector<float> embedding_norm;       ///< [hidden]
};

/// Views and copies as in LayerWeights.
struct Gemma3nWeights {
  std::vector<compute::WeightMatrix> projections;   ///< s - 1 of [hidden, hidden]
  std::vector<compute::WeightMatrix> unembeddings;  ///< s - 1 of [hidden, hidden]
  compute::WeightMatrix layer_embedding;            ///< [layer_vocab, layers * e]
  compute::WeightMatrix layer_projection;           ///< [layers * e, hidden]
  std::vector<float> layer_projection_norm;         ///< [e]
  std::vector<Gemma3nLayerWeights> layers;
};

/// The matrices that each token passes: all but layer_embedding.
std::vector<const compute::WeightMatrix*> matrices_of(const Gemma3nWeights& weights);

/// As load_weights; config.gemma3n is there.
Result<Gemma3nWeights> load_gemma3n_weights(WeightFinder& finder, const ModelConfig& config);

}  // namespace kvern::model
