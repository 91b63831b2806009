// How sources call the weights that graphs know by one name.
//
// Sources: gguf-py/gguf/constants.py of llama.cpp; the modules of transformers' modeling_*.py.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/config/model_config.h"

namespace kvern::model {

/// Modules of a model; those from kAttnNorm on exist once for each layer.
enum class Module : uint8_t {
  kTokenEmbedding,
  kOutput,
  kOutputNorm,
  kLayerEmbedding,       ///< Gemma 3n: a token's embeddings for all layers
  kLayerProjection,      ///< Gemma 3n: the same from the token's embedding
  kLayerProjectionNorm,  ///< Gemma 3n
  kAltUpProjection,      ///< Gemma 3n: one for each stream but the first; GGUF stacks them
  kAltUpUnembedding,     ///< Gemma 3n: likewise
  kAttnNorm,
  kAttnQ,
  kAttnK,
  kAttnV,
  kAttnQkv,  ///< q, k and v, one below the other
  kAttnOutput,
  kAttnQNorm,
  kAttnKNorm,
  kFfnNorm,
  kPostAttnNorm,  ///< of what attention adds to the stream
  kPreFfnNorm,    ///< kFfnNorm of the families that have norms on both sides
  kPostFfnNorm,   ///< of what feed-forward adds to the stream
  kFfnGate,
  kFfnUp,
  kFfnGateUp,  ///< gate and up, one below the other
  kFfnDown,
  // Gemma 3n:
  kLayerGate,
  kLayerOutput,
  kLayerNorm,
  kAltUpCorrection,
  kAltUpCorrectionScale,  ///< a vector; see correction_scale_part
  kAltUpPrediction,
  kAltUpRouter,
  kAltUpRouterNorm,
  kLaurelLeft,
  kLaurelRight,
  kLaurelNorm,
};

/// "blk.3.attn_q" or "model.layers.3.self_attn.q_proj"; `layer` is ignored for modules of the whole model.
/// Tensors are this name and ".weight", ".bias", ".scales" or ".biases".
std::string module_name(SourceKind source, Module module, int64_t layer = 0);

/// What follows the name of kAltUpCorrectionScale, which Hugging Face has as a parameter of its module.
std::string_view correction_scale_part(SourceKind source);

/// Tensors that published models hold beside the weights and that no graph needs: buffers that follow from
/// the configuration, a stored copy of the output matrix where it is tied, keys' and values' weights of
/// layers that share those of another. Anything else that loading does not use is an error, since it would
/// change the result.
bool is_redundant_tensor(std::string_view name, const ModelConfig& config);

}  // namespace kvern::model
