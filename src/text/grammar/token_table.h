// The tokens of a model as grammars see them.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "text/grammar/automaton.h"
#include "text/grammar/grammar.h"
#include "text/grammar/token_masks.h"
#include "text/grammar/token_trie.h"
#include "text/vocabulary.h"

namespace kvern::text::grammar {

/// Immutable but for a cache; thread-safe.
class TokenTable : public GrammarVocabulary {
 public:
  /// `bytes[id]` are those of a token; empty for one that stands for no text. `names` are the spellings of
  /// all tokens, also of those.
  TokenTable(std::vector<std::string> bytes, Vocabulary names, std::vector<TokenId> end_tokens);

  size_t size() const override { return bytes_.size(); }
  std::string_view bytes_of(TokenId id) const { return bytes_[static_cast<size_t>(id)]; }
  /// The token that the vocabulary spells so, also a control token.
  std::optional<TokenId> id_of(std::string_view name) const { return names_.find(name); }
  bool has(TokenId id) const { return id >= 0 && static_cast<size_t>(id) < bytes_.size(); }
  bool is_end(TokenId id) const;
  std::span<const TokenId> end_tokens() const { return end_tokens_; }
  /// Tokens of at most kSignatureBytes bytes, and those that are longer.
  const TokenTrie& short_tokens() const { return short_tokens_; }
  const TokenTrie& long_tokens() const { return long_tokens_; }
  /// The most bytes that a token stands for, or that the id of one is spelled in.
  size_t longest_token() const;
  const Spellable& spellable() const { return spellable_; }

  /// What the short tokens do at a state, shared by all grammars that have one like it.
  std::shared_ptr<const StateMask> short_mask(const Automaton& automaton, StateId state) const;

 private:
  struct Kept {
    std::shared_ptr<const StateMask> mask;
    std::list<Signature>::iterator place;
  };
  void find_spellable();

  std::vector<std::string> bytes_;
  Vocabulary names_;
  std::vector<TokenId> end_tokens_;
  TokenTrie short_tokens_;
  TokenTrie long_tokens_;
  Spellable spellable_;

  mutable Mutex mutex_;
  mutable std::map<Signature, Kept> kept_ KVERN_GUARDED_BY(mutex_);
  mutable std::list<Signature> kept_order_ KVERN_GUARDED_BY(mutex_);  ///< Used last is first.
  mutable size_t kept_bytes_ KVERN_GUARDED_BY(mutex_) = 0;
};

}  // namespace kvern::text::grammar
