// What a Grammar is.
#pragma once

#include <memory>
#include <utility>

#include "text/grammar/automaton.h"
#include "text/grammar/grammar.h"
#include "text/grammar/mask_cache.h"
#include "text/grammar/token_table.h"

namespace kvern::text::grammar {

/// Immutable but for the cache of masks; thread-safe.
class CompiledGrammar : public Grammar {
 public:
  CompiledGrammar(Automaton automaton, std::shared_ptr<const TokenTable> vocabulary);

  const GrammarVocabulary& vocabulary() const override { return *vocabulary_; }
  size_t memory_bytes() const override { return automaton_.memory_bytes() + masks_.memory_bytes(); }
  const TokenTable& tokens() const { return *vocabulary_; }
  const Automaton& automaton() const { return automaton_; }
  const MaskCache& masks() const { return masks_; }

 private:
  const Automaton automaton_;
  const std::shared_ptr<const TokenTable> vocabulary_;
  const MaskCache masks_;
};

/// Grammar and GrammarVocabulary have no other implementations than these.
inline const CompiledGrammar& compiled(const Grammar& grammar) {
  return static_cast<const CompiledGrammar&>(grammar);
}
inline std::shared_ptr<const TokenTable> token_table(std::shared_ptr<const GrammarVocabulary> vocabulary) {
  return std::static_pointer_cast<const TokenTable>(std::move(vocabulary));
}

}  // namespace kvern::text::grammar
