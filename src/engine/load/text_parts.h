// A model's tokenizer and chat template, from wherever its files keep them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/files.h"
#include "base/result.h"
#include "model/open_model.h"
#include "text/tokenizer.h"

namespace kvern::engine {

struct TextParts {
  std::unique_ptr<text::Tokenizer> tokenizer;  ///< null when the model has none
  std::optional<std::string> chat_template;    ///< Jinja source
};

/// GGUF: the tokenizer.* keys. Hugging Face: tokenizer.json, tokenizer_config.json and chat_template.jinja of
/// the folder. A tokenizer that is there but damaged or unknown is an error; that there is none is not.
Result<TextParts> load_text_parts(Files& files, const model::OpenedModel& opened);

/// A tokenizer.json by itself, with the tokenizer_config.json beside it if there is one.
Result<std::unique_ptr<text::Tokenizer>> load_tokenizer_json(Files& files, const std::string& path);

}  // namespace kvern::engine
