// ModelConfig from the metadata and the tensor directory of a GGUF file.
#pragma once

#include "base/result.h"
#include "model/config/model_config.h"
#include "model/gguf/gguf_reader.h"

namespace kvern::model {

/// Architectures llama (also Mistral and its other relatives), qwen2, qwen3, phi3, gemma, gemma2, gemma3 and
/// gemma3n; others: kUnsupported with this list. Missing, contradicting or unknown values: kCorrupt, or
/// kUnsupported for what the model may mean but kvern does not compute (experts, per-layer head counts, …);
/// errors name the file and the key.
Result<ModelConfig> config_from_gguf(const GgufFile& file);

}  // namespace kvern::model
