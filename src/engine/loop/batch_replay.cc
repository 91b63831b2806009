// Requests that go on from another process.
#include <algorithm>
#include <utility>

#include "engine/loop/batch.h"

namespace kvern::engine {

// Goes through what was sampled before as if it were sampled now: texts, stop strings, grammars, penalties
// and limits come to the same state, receivers get the same events. The rows then have tokens to be computed,
// as those of a prompt are; a row, or the request, may end here.
void Batch::replay(Request& request) {
  if (!request.spec.replay) return;
  ++stats_.requests_resumed;
  auto choices = std::exchange(request.spec.replay->choices, {});
  size_t longest = 0;
  for (const auto& choice : choices) longest = std::max(longest, choice.size());
  for (size_t i = 0; i < longest; ++i) {
    for (size_t choice = 0; choice < choices.size(); ++choice) {
      Row& row = *request.rows[choice];
      if (i >= choices[choice].size() || !row.open) continue;
      ++stats_.replayed_tokens;
      ++request.charged_tokens;
      accept_token(row, std::move(choices[choice][i]), TokenOrigin::kReplayed);
      if (request.done) return;
    }
  }
}

void Batch::count_prompt(const Request& request, int64_t cached, int64_t computed) {
  // Of one that had begun, the process that began it has counted the prompt.
  if (request.spec.replay && request.spec.replay->cached_tokens) return;
  stats_.cached_tokens += static_cast<uint64_t>(cached);
  stats_.computed_tokens += static_cast<uint64_t>(computed);
  stats_.prompt_tokens += static_cast<uint64_t>(cached + computed);
}

}  // namespace kvern::engine
