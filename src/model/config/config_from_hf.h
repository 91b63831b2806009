// ModelConfig from config.json and generation_config.json of a Hugging Face (or MLX) folder.
#pragma once

#include <optional>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "base/result.h"
#include "model/config/model_config.h"

namespace kvern::model {

struct HfConfigFiles {
  json::value config;
  std::optional<json::value> generation;  ///< generation_config.json, where there is one
  std::string config_path;                ///< for messages
  std::string generation_path;
};

/// Reads both files of a folder.
Result<HfConfigFiles> read_hf_config_files(Files& files, const std::string& folder);

/// Architectures LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM, Phi3ForCausalLM,
/// GemmaForCausalLM, Gemma2ForCausalLM, Gemma3ForCausalLM and Gemma3nForCausalLM (text models); others:
/// kUnsupported with this list. One fact in several spellings (rope_scaling with type or rope_type,
/// rope_parameters; torch_dtype or dtype; sliding windows as a number or as layer_types) is read from each,
/// and spellings that disagree are kCorrupt. Errors name the file and the key.
Result<ModelConfig> config_from_hf(const HfConfigFiles& files);

}  // namespace kvern::model
