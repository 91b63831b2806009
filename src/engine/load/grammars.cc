#include "engine/load/grammars.h"

namespace kvern::engine {
namespace {

constexpr size_t kMostBytes = size_t{256} << 20;

}  // namespace

std::unique_ptr<text::GrammarCache> make_grammar_cache(const Engine& engine) {
  if (engine.tokenizer() == nullptr) return nullptr;
  const auto logits = static_cast<size_t>(engine.model().config().vocab);
  return std::make_unique<text::GrammarCache>(
      text::GrammarVocabulary::create(*engine.tokenizer(), logits, engine.end_tokens()), kMostBytes);
}

}  // namespace kvern::engine
