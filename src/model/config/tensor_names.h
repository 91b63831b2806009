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
  kAttnNorm,
  kAttnQ,
  kAttnK,
  kAttnV,
  kAttnQkv,  ///< q, k and v, one below the other
  kAttnOutput,
  kAttnQNorm,
  kAttnKNorm,
  kFfnNorm,
  kFfnGate,
  kFfnUp,
  kFfnGateUp,  ///< gate and up, one below the other
  kFfnDown,
};

/// "blk.3.attn_q" or "model.layers.3.self_attn.q_proj"; `layer` is ignored for modules of the whole model.
/// Tensors are this name and ".weight", ".bias", ".scales" or ".biases".
std::string module_name(SourceKind source, Module module, int64_t layer = 0);

/// Tensors that published models hold beside the weights and that no graph needs: buffers that follow from
/// the configuration, and a stored copy of the output matrix where it is tied. Anything else that loading
/// does not use is an error, since it would change the result.
bool is_redundant_tensor(std::string_view name, const ModelConfig& config);

}  // namespace kvern::model
