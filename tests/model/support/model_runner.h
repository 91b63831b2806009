// Runs a model as an engine would, with every choice that must not change a result in the caller's hand.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compute/context.h"
#include "model/model.h"
#include "state/sequence/kv_cache.h"

namespace kvern::test {

struct RunnerOptions {
  state::CodecKind codec = state::CodecKind::kF32;
  int64_t context_tokens = 0;
  std::optional<state::KvOptions> kv;  ///< in place of `codec`
};

/// How a prompt is computed.
struct RunnerCompute {
  compute::CpuTarget target = compute::CpuTarget::kAvx2;
  int threads = 1;
  size_t chunk = 1 << 20;
};

/// Tokens of one row of a step.
struct RunnerRow {
  state::RowId row{};
  std::span<const int32_t> tokens;
};

/// One thread. Cells that no step wrote hold NaN.
class ModelRunner {
 public:
  static Result<std::unique_ptr<ModelRunner>> open(Files& files, const std::string& path,
                                                   RunnerOptions options = {}) {
    std::unique_ptr<ModelRunner> runner(new ModelRunner);
    KVERN_TRY(runner->model_, model::Model::open(files, path, options.context_tokens));
    const state::KvOptions kv =
        options.kv.value_or(state::KvOptions{.types = {{.kind = options.codec}, {.kind = options.codec}}});
    KVERN_TRY_STATUS(runner->set_kv(kv));
    return runner;
  }

  /// Begins anew with other keys and values; rows are gone. An error leaves the runner without any.
  Status set_kv(state::KvOptions options) {
    options.poison = true;
    KVERN_TRY(kv_, state::KvCache::create(model_->kv_spec(), options));
    return Ok{};
  }

  const model::ModelConfig& config() const { return model_->config(); }
  state::KvCache& kv() { return *kv_; }

  /// One step; logits of every token [tokens, vocab].
  Result<std::vector<float>> step(compute::Context& context, std::span<const RunnerRow> rows) {
    std::vector<state::RowAppend> appends;
    std::vector<int32_t> tokens;
    for (const RunnerRow& row : rows) {
      appends.push_back({.row = row.row, .tokens = static_cast<int64_t>(row.tokens.size())});
      tokens.insert(tokens.end(), row.tokens.begin(), row.tokens.end());
    }
    std::vector<int64_t> wanted(tokens.size());
    std::iota(wanted.begin(), wanted.end(), 0);
    std::vector<float> logits(tokens.size() * static_cast<size_t>(config().vocab));
    KVERN_TRY(state::Step begun, kv_->begin(appends));
    model_->graph().forward(context, *kv_, {.step = begun, .tokens = tokens, .logit_tokens = wanted},
                            logits.data());
    kv_->commit(std::move(begun));
    return logits;
  }

  /// One step of a row of which only the first `keep` tokens stay.
  Status speculate(compute::Context& context, const RunnerRow& row, int64_t keep) {
    const state::RowAppend append{.row = row.row, .tokens = static_cast<int64_t>(row.tokens.size())};
    KVERN_TRY(state::Step begun, kv_->begin({&append, 1}));
    model_->graph().forward(context, *kv_, {.step = begun, .tokens = row.tokens, .logit_tokens = {}},
                            nullptr);
    kv_->commit(std::move(begun), {&keep, 1});
    return Ok{};
  }

  /// The logits of all positions of a prompt in a row of its own, chunk by chunk.
  Result<std::vector<float>> prompt(std::span<const int32_t> tokens, const RunnerCompute& how) {
    compute::Context context(how.target, how.threads);
    const state::RowId row = kv_->add_row();
    std::vector<float> all;
    for (size_t done = 0; done < tokens.size();) {
      const size_t count = std::min(how.chunk, tokens.size() - done);
      const RunnerRow work{.row = row, .tokens = tokens.subspan(done, count)};
      KVERN_TRY(const std::vector<float> logits, step(context, {&work, 1}));
      all.insert(all.end(), logits.begin(), logits.end());
      done += count;
    }
    KVERN_TRY_STATUS(kv_->remove_row(row));
    return all;
  }

  /// Greedy continuation through the row's state, one token a step. Equal logits: the smaller id.
  Result<std::vector<int32_t>> greedy(std::span<const int32_t> prompt, size_t count,
                                      const RunnerCompute& how) {
    compute::Context context(how.target, how.threads);
    const state::RowId row = kv_->add_row();
    std::vector<int32_t> ids;
    std::span<const int32_t> next = prompt;
    int32_t last = 0;
    while (ids.size() < count) {
      const RunnerRow work{.row = row, .tokens = next};
      KVERN_TRY(const std::vector<float> logits, step(context, {&work, 1}));
      const auto from = logits.end() - config().vocab;
      last = static_cast<int32_t>(std::max_element(from, logits.end()) - from);
      ids.push_back(last);
      next = {&last, 1};
    }
    KVERN_TRY_STATUS(kv_->remove_row(row));
    return ids;
  }

 private:
  ModelRunner() = default;
  std::unique_ptr<model::Model> model_;
  std::unique_ptr<state::KvCache> kv_;
};

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// The largest difference; infinity for arrays of unequal size and for NaN.
inline double largest_difference(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(double{a[i]} - double{b[i]});
    if (!(difference <= largest)) largest = difference;
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
  }
  return largest;
}

}  // namespace kvern::test
