// Opens a model of any supported kind: a GGUF file, or a Hugging Face or MLX folder.
#pragma once

#include <memory>
#include <string>

#include "base/files.h"
#include "base/result.h"
#include "model/config/model_config.h"
#include "model/gguf/gguf_reader.h"
#include "model/tensor_source.h"
#include "model/weights.h"

namespace kvern::model {

/// A model on disk, mapped and checked. Immutable; any thread may read.
struct OpenedModel {
  std::unique_ptr<TensorSource> source;
  const GgufFile* gguf =
      nullptr;         ///< `source` where it is a GGUF file (for the tokenizer's metadata), else null
  std::string folder;  ///< of a Hugging Face model (for tokenizer.json and templates), else empty
  ModelConfig config;
  LoadedWeights weights;  ///< views into `source`
};

/// A folder is a Hugging Face model; a file that begins with "GGUF" a GGUF one; a .safetensors file or its
/// index stands for its folder. Everything is checked before this returns; only norms and biases are read.
Result<OpenedModel> open_model(Files& files, const std::string& path);

}  // namespace kvern::model
