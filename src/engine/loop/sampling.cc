#include "engine/loop/sampling.h"

#include <algorithm>
#include <exception>
#include <limits>

#include "base/hash.h"

namespace kvern::engine {
namespace {

// Waking the threads costs about what looking at so many logits does.
constexpr size_t kLogitsWorthThreads = size_t{1} << 15;

Result<SampledToken> sample_row(const SampleTask& task) {
  Row& row = *task.row;
  if (row.grammar) row.grammar->fill_mask(row.allowed);
  const SampleContext context{.history = row.tokens,
                              .prompt_tokens = static_cast<size_t>(row.prompt_tokens),
                              .position = row.tokens.size(),
                              .allowed = row.grammar ? &row.allowed : nullptr};
  if (!task.shared) return sample(task.logits, row.sampling, context);
  std::vector<float> own(task.logits.begin(), task.logits.end());
  return sample(own, row.sampling, context);
}

void run_task(SampleTask& task) {
  if (!task.token) return;
  try {
    if (task.row->request->spec.generate.hash_logits) task.hash = xxh3_64(std::as_bytes(task.logits));
    task.token = sample_row(task);
  } catch (const std::exception& error) {
    task.token = fail(ErrorCode::kInternal, error.what());
  }
}

bool worth_threads(size_t count, size_t vocabulary) {
  return count > 1 && count * vocabulary >= kLogitsWorthThreads;
}

}  // namespace

void sample_rows(compute::Context& context, std::span<SampleTask> tasks) {
  if (tasks.empty()) return;
  if (!worth_threads(tasks.size(), tasks.front().logits.size())) {
    for (SampleTask& task : tasks) run_task(task);
    return;
  }
  context.pool().run(static_cast<int64_t>(tasks.size()),
                     [&](int64_t i, int) { run_task(tasks[static_cast<size_t>(i)]); });
}

Result<std::vector<TokenLogprobs>> prompt_logprobs(compute::Context& context, std::span<const float> logits,
                                                   std::span<const TokenId> targets, uint32_t top_count) {
  const auto bad = [](float logit) { return !(logit < std::numeric_limits<float>::infinity()); };
  std::vector<TokenLogprobs> result(targets.size());
  if (targets.empty()) return result;
  const size_t vocabulary = logits.size() / targets.size();
  std::vector<uint8_t> failed(targets.size(), 0);
  const auto run_one = [&](int64_t index, int) {
    const auto i = static_cast<size_t>(index);
    const auto mine = logits.subspan(i * vocabulary, vocabulary);
    const bool any = std::ranges::max(mine) > -std::numeric_limits<float>::infinity();
    if (!any || std::ranges::any_of(mine, bad)) {
      failed[i] = 1;
      return;
    }
    const RawLogprobs raw(mine, top_count);
    result[i] = {
        .token = targets[i], .logprob = raw.of(mine[static_cast<size_t>(targets[i])]), .top = raw.top()};
  };
  context.pool().run(static_cast<int64_t>(targets.size()), run_one);
  if (std::ranges::any_of(failed, [](uint8_t f) { return f != 0; })) {
    return fail(
        ErrorCode::kCorrupt,
        "the model gave logits of the prompt that are no numbers: a weight is damaged, or a value too "
        "large for the type of the KV cache");
  }
  return result;
}

}  // namespace kvern::engine
