// Readers of the components of tokenizer.json (huggingface/tokenizers,
// src/{normalizers,pre_tokenizers,decoders, processors}). Each appends what its component does; a type that
// is not supported is an error that names it.
#pragma once

#include <string_view>
#include <vector>

#include "text/decoder.h"
#include "text/json_fields.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/vocabulary.h"

namespace kvern::text {

/// What a post-processor puts around a text.
struct Surroundings {
  std::vector<TokenId> before;
  std::vector<TokenId> after;
};

/// An absent or null component appends nothing.
Status read_normalizer(const JsonField& field, Normalizer& normalizer);
Status read_pre_tokenizer(const JsonField& field, PreTokenizer& pre_tokenizer);
/// An absent decoder joins tokens with spaces.
Status read_decoder(const JsonField& field, Decoder& decoder);
Status read_post_processor(const JsonField& field, const Vocabulary& vocabulary, Surroundings& surroundings);

/// {"String": "..."} or {"Regex": "..."}.
Result<Pattern> read_pattern(const JsonField& field);
/// The replacement of a Metaspace component.
Result<std::string_view> read_metaspace_mark(const JsonField& field);
/// Its prepend_scheme, or what older files said with add_prefix_space.
Result<PrependScheme> read_prepend_scheme(const JsonField& field);

}  // namespace kvern::text
