// A model's weights, found, checked and ready for kernels.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compute/tensor/weight.h"
#include "model/config/model_config.h"
#include "model/gemma3n_weights.h"
#include "model/tensor_source.h"

namespace kvern::model {

/// Weights of one layer. Matrices are views into the source; vectors are f32 copies with the family's offset
/// applied, empty where the model has none. Fused matrices (qkv, gate and up) appear as their parts. k and v
/// have no rows in a layer that shares those of another.
struct LayerWeights {
  std::vector<float> attn_norm;         ///< [hidden]
  compute::WeightMatrix q;              ///< [heads * head_dim_k, hidden]
  compute::WeightMatrix k;              ///< [kv_heads * head_dim_k, hidden]
  compute::WeightMatrix v;              ///< [kv_heads * head_dim_v, hidden]
  compute::WeightMatrix attn_output;    ///< [hidden, heads * head_dim_v]
  std::vector<float> q_bias;            ///< [heads * head_dim_k]
  std::vector<float> k_bias;            ///< [kv_heads * head_dim_k]
  std::vector<float> v_bias;            ///< [kv_heads * head_dim_v]
  std::vector<float> attn_output_bias;  ///< [hidden]
  std::vector<float> q_norm;            ///< [head_dim_k]
  std::vector<float> k_norm;            ///< [head_dim_k]
  std::vector<float> attn_post_norm;    ///< [hidden]

  std::vector<float> ffn_norm;       ///< [hidden]
  compute::WeightMatrix gate;        ///< [ffn, hidden]
  compute::WeightMatrix up;          ///< [ffn, hidden]
  compute::WeightMatrix down;        ///< [hidden, ffn]
  std::vector<float> gate_bias;      ///< [ffn]
  std::vector<float> up_bias;        ///< [ffn]
  std::vector<float> down_bias;      ///< [hidden]
  std::vector<float> ffn_post_norm;  ///< [hidden]
};

/// The matrices of a layer that each token passes.
std::array<const compute::WeightMatrix*, 7> matrices_of(const LayerWeights& layer);

/// Borrowed from the TensorSource, which must outlive it. Immutable.
struct LoadedWeights {
  compute::WeightMatrix token_embedding;  ///< [vocab, hidden]
  compute::WeightMatrix output;           ///< [vocab, hidden]; the embedding where tied
  std::vector<float> output_norm;         ///< [hidden]
  std::vector<LayerWeights> layers;
  std::optional<Gemma3nWeights> gemma3n;
  /// Bytes of matrices that one decoded token reads: all but the embedding where it is not the output too.
  uint64_t bytes_per_token = 0;
};

/// Finds every weight that `config` asks for and checks its shape and type; no matrix is read or copied.
/// kNotFound for a missing tensor, kCorrupt for a wrong shape (file, tensor, expected and found), for MLX
/// parts that do not fit together, and for tensors that the configuration leaves no use for.
Result<LoadedWeights> load_weights(const TensorSource& source, const ModelConfig& config);

}  // namespace kvern::model
