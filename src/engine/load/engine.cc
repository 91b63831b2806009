#include "engine/load/engine.h"

#include <algorithm>
#include <bit>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "engine/load/machine_memory.h"
#include "engine/load/text_parts.h"
#include "model/check_values.h"

namespace kvern::engine {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int64_t kMaxTokens = int64_t{1} << 24;  // positions that rotary angles are made for

Status check(const EngineOptions& options) {
  const auto outside = [](const char* name, int64_t value, int64_t least, int64_t most) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not between {} and {}", value, least, most),
                name);
  };
  if (options.threads < 0 || options.threads > kMaxThreads)
    return outside("threads", options.threads, 0, kMaxThreads);
  if (options.context_tokens < 0 || options.context_tokens > kMaxTokens)
    return outside("context_tokens", options.context_tokens, 0, kMaxTokens);
  if (options.chunk_tokens < 1 || options.chunk_tokens > kMaxTokens)
    return outside("chunk_tokens", options.chunk_tokens, 1, kMaxTokens);
  return Ok{};
}

/// The options with every 0 and default replaced by what it stands for in this model.
EngineOptions resolve(const EngineOptions& asked, const model::ModelConfig& config) {
  EngineOptions options = asked;
  if (options.threads == 0) options.threads = default_threads();
  if (options.context_tokens == 0) options.context_tokens = config.context;
  return options;
}

size_t weight_bytes(const model::TensorSource& source) {
  size_t sum = 0;
  for (const model::StoredTensor& tensor : source.list()) sum += tensor.bytes.size();
  return sum;
}

/// Of a path, or of "path: tensor name". Clients see errors, and folders are not theirs to know.
std::string file_name(std::string_view where) {
  const size_t slash = where.substr(0, where.find(": tensor ")).rfind('/');
  return std::string(where.substr(slash == std::string_view::npos ? 0 : slash + 1));
}

bool all_finite(std::span<const float> numbers) {
  constexpr uint32_t kExponent = 0x7f800000;
  bool finite = true;
  for (const float number : numbers) finite &= (std::bit_cast<uint32_t>(number) & kExponent) != kExponent;
  return finite;
}

Result<std::unique_ptr<compute::Context>> start_compute(compute::CpuTarget target, int threads) {
  try {
    return std::make_unique<compute::Context>(target, threads);
  } catch (const std::system_error&) {
    return fail(ErrorCode::kExhausted, fmt::format("the system gives no {} threads; ask for fewer", threads),
                "threads");
  }
}

}  // namespace

int default_threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

Result<std::unique_ptr<Engine>> Engine::open(Files& files, const EngineOptions& options) {
  KVERN_TRY_STATUS(check(options));
  KVERN_TRY(const compute::CpuTarget target, compute::parse_target(options.cpu_target));
  std::unique_ptr<Engine> engine(new Engine);
  KVERN_TRY(engine->model_, model::Model::open(files, options.model_path, options.context_tokens));
  engine->options_ = resolve(options, engine->model_->config());
  KVERN_TRY(TextParts text, load_text_parts(files, engine->model_->opened()));
  engine->tokenizer_ = std::move(text.tokenizer);
  engine->chat_template_ = std::move(text.chat_template);
  engine->end_tokens_ = engine->model_->config().end_tokens;
  if (engine->tokenizer_) {
    const std::vector<int32_t>& more = engine->tokenizer_->end_of_generation();
    engine->end_tokens_.insert(engine->end_tokens_.end(), more.begin(), more.end());
  }
  std::ranges::sort(engine->end_tokens_);
  KVERN_TRY(engine->compute_, start_compute(target, engine->options_.threads));
  const state::KvSpec spec = engine->model_->kv_spec();
  KVERN_TRY(state::KvOptions kv, make_kv_options(files, options.kv, spec.layers.size()));
  kv.budget_bytes = options.kv_budget_bytes.value_or(
      default_kv_budget(available_memory(files), weight_bytes(*engine->model_->opened().source)));
  engine->options_.kv_budget_bytes = kv.budget_bytes;
  KVERN_TRY(engine->kv_, state::KvCache::create(spec, kv));
  return engine;
}

Status Engine::check_tokens(std::span<const int32_t> tokens) const {
  const int64_t vocabulary = model_->config().vocab;
  for (const int32_t token : tokens) {
    if (token < 0 || token >= vocabulary) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("token {} is outside of the vocabulary of {}", token, vocabulary));
    }
  }
  return Ok{};
}

Status Engine::check_weights() const {
  const Status unchanged = model_->opened().source->check_unchanged();
  if (unchanged) return Ok{};
  return fail(unchanged.error().code,
              fmt::format("{}: {}", file_name(unchanged.error().where), unchanged.error().message),
              std::string(kWeights));
}

Status Engine::check_values() const {
  Status finite = model::check_finite(*model_->opened().source);
  if (!finite) finite.error().where = file_name(finite.error().where);
  return finite;
}

Status Engine::check_logits(std::span<const float> logits) const {
  if (all_finite(logits)) return Ok{};
  KVERN_TRY_STATUS(check_values());
  return fail(ErrorCode::kCorrupt, "its logits are not finite, although all of its weights are",
              file_name(options_.model_path));
}

Result<std::span<float>> Engine::forward(std::span<const RowTokens> rows) {
  std::vector<state::RowAppend> appends;
  appends.reserve(rows.size());
  step_tokens_.clear();
  logit_tokens_.clear();
  for (const RowTokens& row : rows) {
    KVERN_TRY_STATUS(check_tokens(row.tokens));
    KVERN_TRY(const int64_t length, kv_->length(row.row));
    const auto count = static_cast<int64_t>(row.tokens.size());
    if (length + count > options_.context_tokens) {
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("{} tokens do not fit the context of {}", length + count, options_.context_tokens),
          "row");
    }
    appends.push_back({.row = row.row, .tokens = count});
    const auto offset = static_cast<int64_t>(step_tokens_.size());
    step_tokens_.insert(step_tokens_.end(), row.tokens.begin(), row.tokens.end());
    const int64_t wanted = row.logits == Logits::kNone ? 0 : row.logits == Logits::kAll ? count : 1;
    for (int64_t i = std::max<int64_t>(0, count - wanted); i < count; ++i)
      logit_tokens_.push_back(offset + i);
  }
  // A weight file that shrank would be read as zeros up to a page's end, and fault behind it.
  KVERN_TRY_STATUS(check_weights());
  KVERN_TRY(state::Step step, kv_->begin(appends));
  const size_t size = logit_tokens_.size() * static_cast<size_t>(model_->config().vocab);
  if (logits_.size() < size) logits_.resize(size);  // never smaller: what a resize adds is cleared
  const model::ForwardInput input{
      .step = step, .tokens = step_tokens_, .logit_tokens = logit_tokens_, .stop = options_.stop};
  model_->graph().forward(*compute_, *kv_, input, logits_.data());
  if (input.stopped()) return fail(ErrorCode::kCancelled, "interrupted");
  // What was written while they were read is in these numbers, and in the state.
  KVERN_TRY_STATUS(check_weights());
  kv_->commit(std::move(step));
  return std::span(logits_).first(size);
}

}  // namespace kvern::engine
