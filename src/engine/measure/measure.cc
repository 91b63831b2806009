#include "engine/measure/measure.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <random>

#include <fmt/format.h>

namespace kvern::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kShortContext = 32;  // of the rows of a batch: as llama-batched-bench is usually run
constexpr int64_t kFillTokens = 256;
constexpr int kWarmUpSteps = 2;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Rows that are removed at the end of a test.
class Rows {
 public:
  Rows(Engine& engine, int64_t count) : engine_(engine) {
    for (int64_t i = 0; i < count; ++i) ids_.push_back(engine.kv().add_row());
  }
  ~Rows() {
    for (const state::RowId row : ids_) (void)engine_.kv().remove_row(row);
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  const std::vector<state::RowId>& ids() const { return ids_; }

 private:
  Engine& engine_;
  std::vector<state::RowId> ids_;
};

std::vector<int32_t> random_tokens(int64_t count, int64_t vocabulary) {
  std::mt19937 generator(1);
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int32_t& token : tokens) token = static_cast<int32_t>(generator() % static_cast<uint64_t>(vocabulary));
  return tokens;
}

/// Gives a row `tokens` positions of random keys and values in every layer.
Status fill(Engine& engine, state::RowId row, int64_t tokens) {
  const state::KvSpec spec = engine.model().kv_spec();
  int64_t widest = 0;
  for (const state::KvLayerSpec& layer : spec.layers) {
    widest = std::max(widest, layer.kv_heads * std::max(layer.k_dim, layer.v_dim));
  }
  std::mt19937 generator(2);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<float> values(static_cast<size_t>(kFillTokens * widest));
  for (float& value : values) value = uniform(generator);
  for (int64_t done = 0; done < tokens;) {
    const int64_t count = std::min(kFillTokens, tokens - done);
    const state::RowAppend append{.row = row, .tokens = count};
    KVERN_TRY(state::Step step, engine.kv().begin({&append, 1}));
    for (size_t layer = 0; layer < spec.layers.size(); ++layer) {
      engine.kv().append(engine.compute(), static_cast<state::LayerIndex>(layer), step,
                         {.k = values.data(), .v = values.data()});
    }
    engine.kv().commit(std::move(step));
    done += count;
  }
  return Ok{};
}

double attention_operations(const model::ModelConfig& config, double positions) {
  return 2.0 * static_cast<double>(config.layers * config.heads * (config.head_dim_k + config.head_dim_v)) *
         positions;
}

Result<Measurement> measure_prefill(Engine& engine, const MeasureTest& test, const MeasureOptions& options) {
  const model::Model& model = engine.model();
  const std::vector<int32_t> tokens = random_tokens(test.size, model.config().vocab);
  Measurement result{.test = test};
  result.tokens = static_cast<double>(test.size);
  const auto pairs = static_cast<double>(test.size) * static_cast<double>(test.size + 1) / 2;
  result.operations =
      2.0 * static_cast<double>(model.layer_parameters() * test.size + model.output_parameters()) +
      attention_operations(model.config(), pairs);
  for (int repetition = -1; repetition < options.repetitions; ++repetition) {  // the first is the warm-up
    const Rows rows(engine, 1);
    const auto start = Clock::now();
    for (int64_t done = 0; done < test.size;) {
      const int64_t count = std::min(engine.options().chunk_tokens, test.size - done);
      const Engine::RowTokens work{
          .row = rows.ids()[0],
          .tokens = std::span(tokens).subspan(static_cast<size_t>(done), static_cast<size_t>(count))};
      done += count;
      if (done < test.size) {
        KVERN_TRY_STATUS(engine.prefill({&work, 1}));
      } else {
        KVERN_TRY([[maybe_unused]] const auto logits, engine.forward({&work, 1}));
      }
    }
    if (repetition >= 0) result.seconds.push_back(seconds_since(start));
  }
  return result;
}

Result<Measurement> measure_steps(Engine& engine, const MeasureTest& test, const MeasureOptions& options) {
  const model::Model& model = engine.model();
  const bool batch = test.kind == MeasureKind::kBatch;
  const int64_t context = batch ? kShortContext : test.size;
  const Rows rows(engine, batch ? test.size : 1);
  for (const state::RowId row : rows.ids()) KVERN_TRY_STATUS(fill(engine, row, context));
  const std::vector<int32_t> tokens =
      random_tokens(static_cast<int64_t>(rows.ids().size()), model.config().vocab);
  std::vector<Engine::RowTokens> work;
  work.reserve(rows.ids().size());
  for (size_t i = 0; i < rows.ids().size(); ++i)
    work.push_back({.row = rows.ids()[i], .tokens = {&tokens[i], 1}});

  Measurement result{.test = test};
  const auto count = static_cast<double>(rows.ids().size());
  const double mean_context = static_cast<double>(context) + options.steps / 2.0;
  result.tokens = count;
  result.bytes = static_cast<double>(model.weight_bytes_per_step()) +
                 count * mean_context * static_cast<double>(engine.kv().bytes_per_token());
  result.operations =
      count * (2.0 * static_cast<double>(model.layer_parameters() + model.output_parameters()) +
               attention_operations(model.config(), mean_context));
  for (int repetition = -1; repetition < options.repetitions; ++repetition) {
    const int steps = repetition < 0 ? kWarmUpSteps : options.steps;
    const auto start = Clock::now();
    for (int step = 0; step < steps; ++step) {
      KVERN_TRY([[maybe_unused]] const auto logits, engine.forward(work));
    }
    if (repetition >= 0) result.seconds.push_back(seconds_since(start) / steps);
    // Every repetition starts at the same context.
    for (const state::RowId row : rows.ids()) KVERN_TRY_STATUS(engine.kv().truncate(row, context));
  }
  return result;
}

}  // namespace

std::string to_string(const MeasureTest& test) {
  const char* kind = test.kind == MeasureKind::kPrefill  ? "prefill"
                     : test.kind == MeasureKind::kDecode ? "decode"
                                                         : "batch";
  return fmt::format("{}:{}", kind, test.size);
}

Result<MeasureTest> parse_measure_test(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  MeasureTest test;
  if (kind == "prefill") {
    test.kind = MeasureKind::kPrefill;
  } else if (kind == "decode") {
    test.kind = MeasureKind::kDecode;
  } else if (kind == "batch") {
    test.kind = MeasureKind::kBatch;
  } else {
    return fail(ErrorCode::kInvalidArgument,
                "no such test; write prefill:TOKENS, decode:CONTEXT or batch:ROWS", std::string(text));
  }
  const std::string_view number = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), test.size);
  const int64_t least = test.kind == MeasureKind::kDecode ? 0 : 1;
  if (error != std::errc{} || end != number.data() + number.size() || test.size < least ||
      test.size > (1 << 20)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("needs a number from {} to 1048576 after the colon", least), std::string(text));
  }
  return test;
}

int64_t longest_row(const MeasureTest& test, const MeasureOptions& options) {
  if (test.kind == MeasureKind::kPrefill) return test.size;
  const int64_t context = test.kind == MeasureKind::kBatch ? kShortContext : test.size;
  return context + std::max(options.steps, kWarmUpSteps);
}

double Measurement::median_seconds() const {
  std::vector<double> sorted = seconds;
  std::ranges::sort(sorted);
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

Result<Measurement> measure(Engine& engine, const MeasureTest& test, const MeasureOptions& options) {
  return test.kind == MeasureKind::kPrefill ? measure_prefill(engine, test, options)
                                            : measure_steps(engine, test, options);
}

}  // namespace kvern::engine
