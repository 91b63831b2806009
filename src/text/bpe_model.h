// Byte-pair encoding (Sennrich et al., 2016, arXiv:1508.07909), with the details of Hugging Face's
// `tokenizers` and of SentencePiece.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/byte_tokens.h"
#include "text/merge_table.h"
#include "text/model.h"
#include "text/vocabulary.h"

namespace kvern::text {

struct BpeOptions {
  std::optional<TokenId> unk = {};  ///< For characters that have no token; without it they are left out.
  bool fuse_unk = false;            ///< One unk for a run of such characters.
  bool byte_fallback = false;       ///< Such characters become byte tokens, where these exist.
  bool ignore_merges = false;       ///< A piece that is a token is that token.
  /// Before each character of a piece but the first (continuing_subword_prefix).
  std::string subword_prefix = {};
  std::string end_of_word_suffix = {};  ///< After the last character of a piece.
  /// By id: tokens that text never becomes, whatever the merges say (control tokens).
  std::vector<bool> never_from_text = {};
};

/// A piece of n bytes takes time O(n log n).
class BpeModel final : public Model {
 public:
  /// `vocabulary` must outlive the model. `merges` are between ids of the vocabulary and those of `partial`:
  /// characters that are no token themselves but begin one; their ids follow those of the vocabulary.
  BpeModel(const Vocabulary& vocabulary, MergeTable merges, BpeOptions options, Vocabulary partial = {});

  void encode(std::string_view piece, std::vector<TokenId>& out) const override;
  bool takes_escaped_bytes() const override { return options_.byte_fallback && bytes_.complete(); }

 private:
  /// A doubly linked list over the characters of a piece.
  struct Symbol {
    TokenId id = 0;
    int32_t previous = -1;
    int32_t next = -1;
    bool merged_away = false;
  };
  class Merger;

  bool may_come_from_text(TokenId id) const;
  std::optional<TokenId> symbol_of(std::string_view character) const;
  void append_initial_symbols(std::string_view piece, std::vector<Symbol>& symbols) const;
  void append_token(TokenId id, bool& after_unk, std::vector<TokenId>& out) const;

  const Vocabulary& vocabulary_;
  MergeTable merges_;
  BpeOptions options_;
  Vocabulary partial_;
  ByteTokens bytes_;
  std::vector<TokenId> ascii_;  ///< symbol_of() the 128 characters of ASCII, -1 for none.
};

}  // namespace kvern::text
