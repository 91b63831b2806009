#include "engine/measure/decode_row.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

namespace kvern::engine {
namespace {

constexpr int64_t kFillTokens = 256;

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

/// Removes forks at the end of a measurement.
class Forks {
 public:
  explicit Forks(state::KvCache& kv) : kv_(kv) {}
  ~Forks() {
    for (const state::RowId row : rows_) (void)kv_.remove_row(row);
  }
  Forks(const Forks&) = delete;
  Forks& operator=(const Forks&) = delete;
  Status add(state::RowId source) {
    KVERN_TRY(const state::RowId row, kv_.fork(source));
    rows_.push_back(row);
    return Ok{};
  }
  const std::vector<state::RowId>& rows() const { return rows_; }

 private:
  state::KvCache& kv_;
  std::vector<state::RowId> rows_;
};

}  // namespace

std::vector<int32_t> random_tokens(int64_t count, int64_t vocabulary) {
  std::mt19937 generator(1);
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int32_t& token : tokens) token = static_cast<int32_t>(generator() % static_cast<uint64_t>(vocabulary));
  return tokens;
}

DecodeRows::DecodeRows(DecodeRows&& other) noexcept
    : engine_(std::exchange(other.engine_, nullptr)), rows_(std::move(other.rows_)) {}

DecodeRows::~DecodeRows() {
  if (engine_ == nullptr) return;
  for (const state::RowId row : rows_) (void)engine_->kv().remove_row(row);
}

Result<DecodeRows> DecodeRows::make(Engine& engine, int64_t count, int64_t context) {
  DecodeRows result(engine);
  for (int64_t i = 0; i < count; ++i) {
    result.rows_.push_back(engine.kv().add_row());
    KVERN_TRY_STATUS(fill(engine, result.rows_.back(), context));
  }
  return result;
}

Result<double> DecodeRows::step_seconds(int steps) {
  Forks forks(engine_->kv());
  for (const state::RowId row : rows_) KVERN_TRY_STATUS(forks.add(row));
  const std::vector<int32_t> tokens = random_tokens(count(), engine_->model().config().vocab);
  std::vector<Engine::RowTokens> work;
  work.reserve(rows_.size());
  for (size_t i = 0; i < rows_.size(); ++i)
    work.push_back({.row = forks.rows()[i], .tokens = {&tokens[i], 1}});
  std::span<float> logits;
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    KVERN_TRY(logits, engine_->forward(work));
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  KVERN_TRY_STATUS(engine_->check_logits(logits));
  return seconds.count() / steps;
}

}  // namespace kvern::engine
