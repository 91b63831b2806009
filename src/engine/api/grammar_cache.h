// Grammars of one model, each made once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "engine/load/engine.h"
#include "text/grammar/grammar.h"

namespace kvern::engine {

/// Keeps the grammars that were used last. Thread-safe; two threads may make the same one at the same time.
class GrammarCache {
 public:
  using Grammar = std::shared_ptr<const text::Grammar>;
  /// Of the engine, which outlives it, only the tokenizer and facts of the model are used. At most
  /// `most_grammars` >= 1 are kept.
  explicit GrammarCache(const Engine& engine, size_t most_grammars = 32);

  /// Errors: those of the grammar (`where` is its name in kvern::Request), and a model without a tokenizer.
  Result<Grammar> gbnf(std::string_view text);
  Result<Grammar> json_schema(std::string_view text);

 private:
  enum class Kind : uint8_t { kGbnf, kJsonSchema };
  struct Entry {
    Kind kind;
    std::string text;
    Grammar grammar;
  };

  Result<Grammar> get(Kind kind, std::string_view text);
  Grammar find(Kind kind, std::string_view text);
  void keep(Entry entry);
  Result<Grammar> make(Kind kind, std::string_view text);
  Result<std::shared_ptr<const text::GrammarVocabulary>> vocabulary();

  const Engine& engine_;
  const size_t most_grammars_;
  Mutex mutex_;
  std::shared_ptr<const text::GrammarVocabulary> vocabulary_ KVERN_GUARDED_BY(mutex_);  // null until used
  std::list<Entry> entries_ KVERN_GUARDED_BY(mutex_);                                   // the last used first
};

}  // namespace kvern::engine
