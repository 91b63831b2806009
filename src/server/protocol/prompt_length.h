// How long a prompt may be, and how far one that is longer is counted.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "engine/load/engine.h"

namespace kvern::server {

/// EncodeOptions::most_tokens for prompts: twice the context. Up to there the error says how many tokens
/// there are, so that a client knows what to cut; a text that is longer still is not worth the work.
size_t most_counted_tokens(const engine::Engine& engine);

/// kExhausted at "prompt" when these tokens, encoded up to most_counted_tokens(), are more than the context
/// holds. `what` is what they are of: "the prompt has".
Status check_prompt_length(size_t tokens, std::string_view what, const engine::Engine& engine);

}  // namespace kvern::server
