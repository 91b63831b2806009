#include "server/protocol/prompt_length.h"

#include <algorithm>

#include <fmt/format.h>

namespace kvern::server {

size_t most_counted_tokens(const engine::Engine& engine) {
  return 2 * static_cast<size_t>(engine.context_tokens());
}

Status check_prompt_length(size_t tokens, std::string_view what, const engine::Engine& engine) {
  if (tokens <= static_cast<size_t>(engine.context_tokens())) return Ok{};
  const size_t counted = most_counted_tokens(engine);
  return fail(
      ErrorCode::kExhausted,
      fmt::format("This model's maximum context length is {} tokens, and {} {}{}.", engine.context_tokens(),
                  what, tokens > counted ? "more than " : "", std::min(tokens, counted)),
      "prompt");
}

}  // namespace kvern::server
