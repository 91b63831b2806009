// Unigram language model tokenization (Kudo, 2018, arXiv:1804.10959): the most probable way to cut a piece.
#pragma once

#include <optional>
#include <vector>

#include "text/byte_tokens.h"
#include "text/model.h"
#include "text/trie.h"
#include "text/vocabulary.h"

namespace kvern::text {

struct UnigramOptions {
  std::optional<TokenId> unk = {};  ///< For characters that have no token; without it they are left out.
  bool byte_fallback = false;       ///< Such characters become byte tokens, where all 256 exist.
  std::vector<bool> never_from_text = {};  ///< By id: tokens that text never becomes.
};

/// A piece of n bytes takes time O(n * longest token).
class UnigramModel final : public Model {
 public:
  /// `vocabulary` must outlive the model. `scores` are log probabilities by id, finite.
  UnigramModel(const Vocabulary& vocabulary, std::vector<double> scores, UnigramOptions options);

  void encode(std::string_view piece, std::vector<TokenId>& out) const override;
  bool takes_escaped_bytes() const override { return options_.byte_fallback && bytes_.complete(); }

 private:
  /// The best way to cut the text up to some place.
  struct Node {
    double score = 0;
    size_t start = 0;  ///< Where its last token begins.
    TokenId token = kNone;
  };
  static constexpr TokenId kNone = -1;     ///< Not reached yet.
  static constexpr TokenId kUnknown = -2;  ///< One character that no token begins with alone.

  std::vector<Node> best_paths(std::string_view piece) const;
  void append_unknown(std::string_view characters, std::vector<TokenId>& out) const;

  std::vector<double> scores_;
  UnigramOptions options_;
  ByteTokens bytes_;
  Trie trie_;
  double unknown_score_ = 0;
};

}  // namespace kvern::text
