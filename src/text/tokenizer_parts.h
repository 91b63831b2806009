// What a tokenizer is made of; filled by the readers of tokenizer.json and of GGUF.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/added_tokens.h"
#include "text/decoder.h"
#include "text/model.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace kvern::text {

struct Tokenizer::Parts {
  Vocabulary vocabulary;      ///< The model's tokens and the added ones. The model refers to it: never moved.
  std::vector<bool> special;  ///< By id.
  AddedTokenMatcher literals;             ///< Looked for in the text as it is.
  AddedTokenMatcher normalized_literals;  ///< Looked for in normalized text.
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::unique_ptr<Model> model;
  Decoder decoder;
  std::vector<TokenId> before;  ///< What `add_special` puts before a text.
  std::vector<TokenId> after;
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  std::optional<TokenId> unk;
  std::vector<TokenId> end_of_generation;
  bool byte_level = false;  ///< Tokens are spelled as byte_level.h says.
  std::string space_mark;   ///< What stands for a space in the spelling of tokens; empty when nothing does.

  Parts() = default;
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  bool is_special(TokenId id) const {
    return id >= 0 && static_cast<size_t>(id) < special.size() && special[static_cast<size_t>(id)];
  }
  /// Files `token` with the literals and the special tokens. Its id has its text already, and the normalizer
  /// is complete.
  void add_literal(const AddedToken& token);
};

}  // namespace kvern::text
