#include "engine/measure/measure.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "engine/measure/decode_row.h"

namespace kvern::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kShortContext = 32;  // of the rows of a batch: as llama-batched-bench is usually run
constexpr int kWarmUpSteps = 2;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
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
    std::span<float> logits;
    const auto start = Clock::now();
    for (int64_t done = 0; done < test.size;) {
      const int64_t count = std::min(engine.options().chunk_tokens, test.size - done);
      const Engine::RowTokens work{
          .row = rows.ids()[0],
          .tokens = std::span(tokens).subspan(static_cast<size_t>(done), static_cast<size_t>(count)),
          .logits = done + count < test.size ? Engine::Logits::kNone : Engine::Logits::kLast};
      done += count;
      KVERN_TRY(logits, engine.forward({&work, 1}));
    }
    if (repetition >= 0) result.seconds.push_back(seconds_since(start));
    KVERN_TRY_STATUS(engine.check_logits(logits));
  }
  return result;
}

Result<Measurement> measure_steps(Engine& engine, const MeasureTest& test, const MeasureOptions& options) {
  const model::Model& model = engine.model();
  const bool batch = test.kind == MeasureKind::kBatch;
  const int64_t context = batch ? kShortContext : test.size;
  KVERN_TRY(DecodeRows rows, DecodeRows::make(engine, batch ? test.size : 1, context));
  Measurement result{.test = test};
  const auto count = static_cast<double>(rows.count());
  const double mean_context = static_cast<double>(context) + options.steps / 2.0;
  result.tokens = count;
  result.bytes = static_cast<double>(model.weight_bytes_per_step()) +
                 count * mean_context * static_cast<double>(engine.kv().bytes_per_token());
  result.operations =
      count * (2.0 * static_cast<double>(model.layer_parameters() + model.output_parameters()) +
               attention_operations(model.config(), mean_context));
  for (int repetition = -1; repetition < options.repetitions; ++repetition) {  // the first is the warm-up
    const double before = options.read_probe != nullptr ? options.read_probe->bytes_per_second() : 0;
    KVERN_TRY(const double seconds, rows.step_seconds(repetition < 0 ? kWarmUpSteps : options.steps));
    if (repetition < 0) continue;
    result.seconds.push_back(seconds);
    if (options.read_probe == nullptr) continue;
    const double ceiling = (before + options.read_probe->bytes_per_second()) / 2;
    result.read_shares.push_back(result.bytes / seconds / ceiling);
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

double Measurement::median_seconds() const { return median(seconds); }

double Measurement::median_read_share() const { return read_shares.empty() ? 0 : median(read_shares); }

Result<Measurement> measure(Engine& engine, const MeasureTest& test, const MeasureOptions& options) {
  return test.kind == MeasureKind::kPrefill ? measure_prefill(engine, test, options)
                                            : measure_steps(engine, test, options);
}

}  // namespace kvern::engine
