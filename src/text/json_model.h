// The `model` of tokenizer.json.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "text/json_fields.h"
#include "text/merge_table.h"
#include "text/model.h"
#include "text/vocabulary.h"

namespace kvern::text {

enum class JsonModelType : uint8_t { kBpe, kUnigram };

/// BPE or Unigram; anything else is an error that names it.
Result<JsonModelType> read_model_type(const JsonField& field);
/// Fills an empty vocabulary.
Status read_model_vocabulary(const JsonField& field, JsonModelType type, Vocabulary& vocabulary);
/// The token that stands for what has none.
Result<std::optional<TokenId>> read_model_unk(const JsonField& field, JsonModelType type,
                                              const Vocabulary& vocabulary);
/// `vocabulary` (which has the added tokens by now) must outlive the model. `never_from_text` is by id.
Result<std::unique_ptr<Model>> read_model(const JsonField& field, JsonModelType type,
                                          const Vocabulary& vocabulary, std::vector<bool> never_from_text);

}  // namespace kvern::text
