// What Gemma 3n has beyond a dense decoder: several residual streams, low-rank side paths, embeddings for
// each layer, sparse gates.
//
// Sources: transformers, models/gemma3n; AltUp: Baykal et al., arXiv 2301.13310; LAuReL: Menghani et al.,
// arXiv 2411.07501.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace kvern::model {

struct Gemma3nConfig {
  int64_t streams = 4;          ///< of the residual (AltUp)
  int64_t active_stream = 0;    ///< the one that attention and feed-forward read
  bool scale_corrected = true;  ///< the active stream is scaled on its way to the layer's embedding
  int64_t laurel_rank = 0;
  int64_t layer_embedding = 0;  ///< width of a token's embedding for one layer
  int64_t layer_vocab = 0;      ///< rows of those embeddings; larger ids use row 0
  /// [layers]: a gate that is not so many standard deviations above its row's mean counts as 0, the others by
  /// how far they are above that; -infinity: gates as they are.
  std::vector<float> gate_cutoffs;
};

/// The cutoff for which a normal distribution lies below with probability `sparsity`, 0 <= sparsity < 1.
float gate_cutoff(double sparsity);

/// kCorrupt when the numbers cannot be those of a model with so many layers. `where` is named in errors.
Status check_gemma3n(const Gemma3nConfig& config, int64_t layers, const std::string& where);

/// As config_facts.
std::string gemma3n_facts(const Gemma3nConfig& config);

}  // namespace kvern::model
