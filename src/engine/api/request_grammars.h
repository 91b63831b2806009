// Grammars as kvern::Request names them: texts.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>

#include "base/result.h"
#include "engine/load/engine.h"
#include "text/grammar/grammar_cache.h"

namespace kvern::engine {

/// Thread-safe. The vocabulary is prepared when the first grammar is asked for: most programs ask for none.
class RequestGrammars {
 public:
  using Grammar = std::shared_ptr<const text::Grammar>;
  /// Of the engine, which outlives it, only the tokenizer and facts of the model are used.
  explicit RequestGrammars(const Engine& engine) : engine_(engine) {}

  /// Errors: those of the grammar (`where` is its name in kvern::Request), and a model without a tokenizer.
  Result<Grammar> gbnf(std::string_view text);
  Result<Grammar> json_schema(std::string_view text);

 private:
  Result<text::GrammarCache*> cache();

  const Engine& engine_;
  std::once_flag once_;
  std::unique_ptr<text::GrammarCache> cache_;
};

}  // namespace kvern::engine
