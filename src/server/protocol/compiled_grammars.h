// Grammars of the served model, compiled once and kept while they are used.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/mutex.h"
#include "engine/load/engine.h"
#include "server/protocol/grammar_source.h"

namespace kvern::server {

/// Thread-safe. Two threads that ask for the same new grammar at the same time may both compile it. The least
/// recently used are forgotten when there are too many; requests that still follow one keep it alive.
class CompiledGrammars : public GrammarSource {
 public:
  struct Limits {
    size_t max_grammars = 64;
    /// Of all that are kept, their masks included.
    size_t max_bytes = size_t{256} << 20;
  };
  CompiledGrammars(std::shared_ptr<const text::GrammarVocabulary> vocabulary, Limits limits);
  /// For an engine's logits and end tokens; null when it has no tokenizer.
  static std::unique_ptr<CompiledGrammars> create(const engine::Engine& engine);

  Result<Grammar> gbnf(std::string_view text) override;
  Result<Grammar> json_schema(const json::value& schema) override;
  Result<Grammar> json_object() override;
  Result<Grammar> structure(const text::Structure& structure) override;

  size_t size() const;

 private:
  struct Entry {
    std::string key;
    Grammar grammar;
  };
  using Entries = std::list<Entry>;  // the most recently used first

  Result<Grammar> find_or_compile(std::string key, const std::function<Result<Grammar>()>& compile);
  Grammar find(const std::string& key);
  void keep(std::string key, const Grammar& grammar);
  void forget_surplus() KVERN_REQUIRES(mutex_);

  const std::shared_ptr<const text::GrammarVocabulary> vocabulary_;
  const Limits limits_;
  mutable Mutex mutex_;
  Entries entries_ KVERN_GUARDED_BY(mutex_);
  std::unordered_map<std::string_view, Entries::iterator> by_key_
      KVERN_GUARDED_BY(mutex_);  // keys live in entries_
};

}  // namespace kvern::server
