// What the later Gemma families have beyond Gemma 1, from the metadata and tensors of a GGUF file.
#pragma once

#include "base/result.h"
#include "model/config/gguf_fields.h"
#include "model/config/model_config.h"

namespace kvern::model {

/// Soft caps, norms, scales and sharing of Gemma 2, 3 and 3n; nothing for other families. Sizes and windows
/// of `config` are known, its layers were checked.
///
/// Source: the files under src/models of llama.cpp, which hold what the metadata leaves out (the scale of the
/// two 27B models, the layers that share keys and values, the sparse gates).
Status read_gguf_gemma(GgufFields& fields, ModelConfig& config);

}  // namespace kvern::model
