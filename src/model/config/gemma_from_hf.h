// What the later Gemma families have beyond Gemma 1, from config.json.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/config/json_fields.h"
#include "model/config/model_config.h"

namespace kvern::model {

/// Keys of config.json that these families compute and that would be refused elsewhere.
bool is_gemma_key(Family family, std::string_view key);

/// Soft caps, norms, scales and sharing of Gemma 2, 3 and 3n; nothing for other families. Sizes and windows
/// of `config` are known, its layers were checked.
///
/// Source: configuration_gemma2.py, …_gemma3.py and …_gemma3n.py of transformers, with their defaults.
Status read_hf_gemma(const JsonFields& fields, ModelConfig& config);

}  // namespace kvern::model
