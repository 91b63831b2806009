// The grammars of a loaded model.
#pragma once

#include <memory>

#include "engine/load/engine.h"
#include "text/grammar/grammar_cache.h"

namespace kvern::engine {

/// A cache for the model's tokens and end tokens, as long as its logits are. Null when there is no tokenizer.
/// Independent of the engine once it is made.
std::unique_ptr<text::GrammarCache> make_grammar_cache(const Engine& engine);

}  // namespace kvern::engine
