// A config.json that a test can change, and the configuration that comes out of it.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "model/config/config_from_hf.h"

namespace kvern::test {

/// Starts as a complete Llama; `set` and `erase` edit it by key, values in JSON.
class HfConfig {
 public:
  explicit HfConfig(std::string_view class_name = "LlamaForCausalLM", std::string_view model_type = "llama") {
    set("architectures", "[\"" + std::string(class_name) + "\"]");
    set("model_type", "\"" + std::string(model_type) + "\"");
    set("hidden_size", "64");
    set("intermediate_size", "96");
    set("num_hidden_layers", "4");
    set("num_attention_heads", "4");
    set("num_key_value_heads", "2");
    set("head_dim", "16");
    set("vocab_size", "256");
    set("max_position_embeddings", "512");
    set("rms_norm_eps", "1e-5");
  }

  HfConfig& set(std::string_view key, const std::string& value) {
    object_[json::string_view(key.data(), key.size())] = boost::json::parse(value);
    return *this;
  }
  HfConfig& erase(std::string_view key) {
    object_.erase(json::string_view(key.data(), key.size()));
    return *this;
  }

  Result<model::ModelConfig> read(std::string_view generation = {}) const {
    model::HfConfigFiles files;
    files.config = object_;
    files.config_path = "config.json";
    files.generation_path = "generation_config.json";
    if (!generation.empty()) files.generation = boost::json::parse(std::string(generation));
    return model::config_from_hf(files);
  }

 private:
  json::object object_;
};

}  // namespace kvern::test
