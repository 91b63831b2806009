#include "engine/measure/kv_comparison.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "engine/measure/decode_row.h"
#include "engine/sample/sample.h"

namespace kvern::engine {
namespace {

constexpr int64_t kChunk = 32;
constexpr int64_t kUsualContext = 8192;
constexpr int kWarmUpSteps = 2;

void clear_precision(KvSettings& settings) {
  settings.keep_first = settings.keep_last = settings.quant_start = 0;
}

Result<std::unique_ptr<Engine>> open_with(Files& files, EngineOptions options, const std::string& type) {
  options.kv.type = type;
  // Full precision beside an encoded type means nothing for one that is not: it stands in the comparison as
  // it is.
  KVERN_TRY(const state::KvTypes types, state::parse_kv_types(type));
  if (!state::is_encoded(types.k) && !state::is_encoded(types.v)) clear_precision(options.kv);
  return Engine::open(files, options);
}

Result<std::unique_ptr<Engine>> open_reference(Files& files, EngineOptions options) {
  clear_precision(options.kv);
  options.kv.layer_types_file.clear();
  return open_with(files, options, "f32");
}

/// Tokens of the row whose steps are timed.
Result<int64_t> timed_context(const Engine& engine, const KvComparisonOptions& options) {
  const int64_t steps = std::max(options.steps, kWarmUpSteps);
  const int64_t room = std::max<int64_t>(0, engine.context_tokens() - steps);
  const int64_t context = options.context.value_or(std::min(room, kUsualContext));
  if (context <= room) return context;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("a row of {} tokens and {} steps do not fit the context of {} (--ctx)", context,
                          steps, engine.context_tokens()),
              fmt::format("--kv-context {}", context));
}

/// A text in the model's own words.
Result<std::vector<int32_t>> write_text(Engine& engine, int64_t tokens) {
  const std::vector<int32_t>& ends = engine.end_tokens();
  std::vector<int32_t> text = {ends.empty() ? 0 : ends.front()};
  SamplingParams params;
  params.temperature = 1.0F;
  params.seed = 1;
  const state::RowId row = engine.kv().add_row();
  while (std::ssize(text) < tokens) {
    const Engine::RowTokens work{.row = row, .tokens = {&text.back(), 1}};
    KVERN_TRY(const std::span<float> logits, engine.forward({&work, 1}));
    // The text goes on beyond what the model would call its end.
    for (const int32_t end : ends) logits[static_cast<size_t>(end)] = -1e30F;
    KVERN_TRY(const SampledToken token, sample(logits, params, {.history = text, .position = text.size()}));
    text.push_back(token.token);
  }
  KVERN_TRY_STATUS(engine.kv().remove_row(row));
  return text;
}

/// The logits after every token of the text: [tokens, vocab].
Result<std::vector<float>> logits_of(Engine& engine, const std::vector<int32_t>& text) {
  std::vector<float> all;
  const state::RowId row = engine.kv().add_row();
  for (size_t done = 0; done < text.size();) {
    const size_t count = std::min<size_t>(kChunk, text.size() - done);
    const Engine::RowTokens work{
        .row = row, .tokens = std::span(text).subspan(done, count), .logits = Engine::Logits::kAll};
    KVERN_TRY(const std::span<float> logits, engine.forward({&work, 1}));
    KVERN_TRY_STATUS(engine.check_logits(logits));
    all.insert(all.end(), logits.begin(), logits.end());
    done += count;
  }
  KVERN_TRY_STATUS(engine.kv().remove_row(row));
  return all;
}

double log_sum(std::span<const float> logits) {
  const float max = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit} - max);
  return max + std::log(sum);
}

void compare(std::span<const float> reference, std::span<const float> logits, size_t vocabulary,
             KvComparison& result) {
  const size_t positions = reference.size() / vocabulary;
  size_t same = 0;
  double kl = 0;
  for (size_t i = 0; i < positions; ++i) {
    const auto p = reference.subspan(i * vocabulary, vocabulary);
    const auto q = logits.subspan(i * vocabulary, vocabulary);
    const double p_sum = log_sum(p);
    const double q_sum = log_sum(q);
    for (size_t t = 0; t < vocabulary; ++t) {
      const double log_p = p[t] - p_sum;
      kl += std::exp(log_p) * (log_p - (q[t] - q_sum));
    }
    same += std::ranges::max_element(p) - p.begin() == std::ranges::max_element(q) - q.begin() ? 1 : 0;
  }
  result.mean_kl = kl / static_cast<double>(positions);
  result.same_top = static_cast<double>(same) / static_cast<double>(positions);
}

/// Times steps of all engines in turns.
Status time_steps(const std::vector<std::unique_ptr<Engine>>& engines, const KvComparisonOptions& options,
                  std::vector<KvComparison>& results) {
  std::vector<DecodeRows> rows;
  for (const auto& engine : engines) {
    KVERN_TRY(DecodeRows made, DecodeRows::make(*engine, 1, results.front().context));
    rows.push_back(std::move(made));
  }
  for (int repetition = -1; repetition < options.repetitions; ++repetition) {  // the first is the warm-up
    for (size_t i = 0; i < rows.size(); ++i) {
      KVERN_TRY(const double seconds, rows[i].step_seconds(repetition < 0 ? kWarmUpSteps : options.steps));
      if (repetition >= 0) results[i].step_seconds.push_back(seconds);
    }
  }
  return Ok{};
}

}  // namespace

Result<std::vector<KvComparison>> compare_kv_types(Files& files, const EngineOptions& engine,
                                                   const KvComparisonOptions& options,
                                                   const std::function<void(const std::string&)>& progress) {
  std::vector<std::unique_ptr<Engine>> engines;
  for (const std::string& type : options.types) {
    KVERN_TRY(engines.emplace_back(), open_with(files, engine, type));
  }
  KVERN_TRY(const std::unique_ptr<Engine> reference, open_reference(files, engine));
  KVERN_TRY(const int64_t context, timed_context(*reference, options));
  progress("f32");
  const int64_t tokens = std::min(options.text_tokens, reference->context_tokens());
  KVERN_TRY(const std::vector<int32_t> text, write_text(*reference, tokens));
  KVERN_TRY(const std::vector<float> expected, logits_of(*reference, text));
  std::vector<KvComparison> results;
  for (size_t i = 0; i < engines.size(); ++i) {
    progress(options.types[i]);
    KVERN_TRY(const std::vector<float> logits, logits_of(*engines[i], text));
    results.push_back({.type = options.types[i],
                       .bytes_per_token = engines[i]->kv().bytes_per_token(),
                       .context = context});
    compare(expected, logits, static_cast<size_t>(reference->model().config().vocab), results.back());
  }
  progress("timing");
  if (context > 0) KVERN_TRY_STATUS(time_steps(engines, options, results));
  return results;
}

}  // namespace kvern::engine
