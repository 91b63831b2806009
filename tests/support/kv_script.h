// Drives a KvCache and, beside it, one slow reference row for each of its rows; compares attention outputs.
#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "base/check.h"
#include "state/sequence/kv_cache.h"
#include "support/reference/kv_reference.h"

namespace kvern::test {

struct SceneCompute {
  compute::CpuTarget target = *compute::best_target();
  int threads = 2;
};

/// A cache of two equal layers with random tokens. Rows are named by the order of their making. A softcap and
/// sink logits apply where they are set.
class KvScene {
 public:
  struct Bring {
    size_t row;
    int64_t tokens;
  };

  /// `group` query heads share a key/value head.
  KvScene(const state::KvLayerSpec& spec, int64_t group, const state::KvOptions& options,
          SceneCompute compute = {})
      : spec_(spec),
        group_(group),
        options_(options),
        context_(compute.target, compute.threads),
        cache_(*state::KvCache::create({{spec, spec}}, options)) {}

  state::KvCache& cache() { return *cache_; }
  state::RowId row(size_t i) const { return rows_[i].id; }
  size_t rows() const { return rows_.size(); }
  int64_t length(size_t i) const { return rows_[i].layers[0].length(); }

  void set_logits(float softcap, std::vector<float> sinks) {
    softcap_ = softcap;
    sinks_ = std::move(sinks);
  }

  void add_row() {
    const reference::KvReferenceRow empty(spec_, options_.types, options_.precision);
    rows_.push_back({cache_->add_row(), {empty, empty}});
  }
  void fork(size_t i) { rows_.push_back({*cache_->fork(rows_[i].id), rows_[i].layers}); }
  void truncate(size_t i, int64_t length) {
    KVERN_CHECK(cache_->truncate(rows_[i].id, length).has_value());
    for (auto& layer : rows_[i].layers) layer.truncate(length);
  }
  void remove(size_t i) {
    KVERN_CHECK(cache_->remove_row(rows_[i].id).has_value());
    rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(i));
    brought_.clear();
  }
  int64_t minimum(size_t i) const { return *cache_->minimum_reusable_position(rows_[i].id); }
  /// Sum over the rows, as the cache itself projects for rows that were never cut.
  size_t projected_bytes() const {
    size_t sum = 0;
    for (const Row& row : rows_) sum += cache_->projected_bytes(row.layers[0].length());
    return sum;
  }

  /// Tokens [first, first + count) of the next step get NaN as key and value.
  void poison_next_tokens(int64_t first, int64_t count) {
    first_poisoned_ = first;
    poisoned_ = count;
  }
  void poison_next_token_at(int64_t i) { poison_next_tokens(i, 1); }

  void step(const std::vector<Bring>& brings) {
    std::vector<int64_t> keep;
    for (const Bring& bring : brings) keep.push_back(bring.tokens);
    step_keeping(brings, keep);
  }

  /// Runs a step in both layers; afterwards only keep[i] tokens of each row stay. Outputs of all tokens are
  /// kept for the comparisons below.
  void step_keeping(const std::vector<Bring>& brings, const std::vector<int64_t>& keep) {
    std::vector<state::RowAppend> appends;
    for (const Bring& bring : brings) appends.push_back({rows_[bring.row].id, bring.tokens});
    auto step = cache_->begin(appends);
    KVERN_CHECK(step.has_value());
    make_inputs(step->tokens());
    for (int32_t layer = 0; layer < 2; ++layer) run_layer(*step, layer);
    expected_rows_.clear();
    brought_ = brings;
    for (size_t i = 0; i < brings.size(); ++i) {
      advance_reference(brings[i].row, step->rows()[i].offset, brings[i].tokens);
      expected_rows_.push_back(rows_[brings[i].row].layers[0]);
      for (auto& layer : rows_[brings[i].row].layers) {
        layer.truncate(layer.length() - brings[i].tokens + keep[i]);
      }
    }
    cache_->commit(*std::move(step), keep);
  }

  bool outputs_equal_reference() const {
    return first_outputs_equal_reference(std::numeric_limits<int64_t>::max());
  }

  /// The outputs of the first `count` tokens of the last step, both layers, bit for bit.
  bool first_outputs_equal_reference(int64_t count) const {
    std::vector<float> expected(static_cast<size_t>(spec_.v_dim));
    bool equal = true;
    for_queries([&](const float* q, int64_t token, int64_t head, int64_t position, size_t row) {
      if (token >= count) return;
      expected_rows_[row].attend(q, head / group_, position, rule(head), expected.data());
      for (const auto& outputs : outputs_) {
        equal &=
            std::memcmp(output(outputs, token, head), expected.data(), expected.size() * sizeof(float)) == 0;
      }
    });
    return equal;
  }

  bool outputs_are_finite() const {
    return std::ranges::all_of(outputs_[0], [](float x) { return std::isfinite(x); });
  }

  bool outputs_are_nan_from(int64_t first) const {
    bool all = true;
    for_queries([&](const float*, int64_t token, int64_t head, int64_t, size_t) {
      for (int64_t d = 0; token >= first && d < spec_.v_dim; ++d)
        all &= std::isnan(output(outputs_[0], token, head)[d]);
    });
    return all;
  }

  double worst_error_against_double() const {
    std::vector<double> expected(static_cast<size_t>(spec_.v_dim));
    double worst = 0.0;
    for_queries([&](const float* q, int64_t token, int64_t head, int64_t position, size_t row) {
      expected_rows_[row].attend_double(q, head / group_, position, rule(head), expected.data());
      for (size_t d = 0; d < expected.size(); ++d) {
        worst = std::max(worst, std::abs(output(outputs_[0], token, head)[d] - expected[d]));
      }
    });
    return worst;
  }

 private:
  struct Row {
    state::RowId id;
    std::vector<reference::KvReferenceRow> layers;
  };
  static constexpr float kScale = 0.3F;
  reference::LogitRule rule(int64_t head) const {
    return {kScale, softcap_, sinks_.empty() ? nullptr : &sinks_[static_cast<size_t>(head)]};
  }

  int64_t heads() const { return spec_.kv_heads * group_; }
  const float* output(const std::vector<float>& outputs, int64_t token, int64_t head) const {
    return outputs.data() + (token * heads() + head) * spec_.v_dim;
  }

  void make_inputs(int64_t tokens) {
    const auto fill = [&](std::vector<float>& values, int64_t count) {
      values.resize(static_cast<size_t>(count));
      for (float& value : values) value = normal_(random_);
    };
    fill(q_, tokens * heads() * spec_.k_dim);
    fill(k_, tokens * spec_.kv_heads * spec_.k_dim);
    fill(v_, tokens * spec_.kv_heads * spec_.v_dim);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const int64_t k = spec_.kv_heads * spec_.k_dim;
    const int64_t v = spec_.kv_heads * spec_.v_dim;
    std::fill_n(k_.begin() + first_poisoned_ * k, poisoned_ * k, nan);
    std::fill_n(v_.begin() + first_poisoned_ * v, poisoned_ * v, nan);
    poison_next_tokens(0, 0);
  }

  void run_layer(const state::Step& step, int32_t index) {
    const state::LayerIndex layer{index};
    auto& out = outputs_[static_cast<size_t>(index)];
    out.assign(static_cast<size_t>(step.tokens() * heads() * spec_.v_dim), -1.0F);
    cache_->append(context_, layer, step, {.k = k_.data(), .v = v_.data()});
    cache_->attend(context_, layer, step,
                   {.q = q_.data(),
                    .out = out.data(),
                    .heads = heads(),
                    .scale = kScale,
                    .softcap = softcap_,
                    .sink_logits = sinks_.empty() ? nullptr : sinks_.data()});
  }

  void advance_reference(size_t row, int64_t offset, int64_t tokens) {
    for (auto& layer : rows_[row].layers) {
      for (int64_t t = offset; t < offset + tokens; ++t) {
        layer.append(k_.data() + t * spec_.kv_heads * spec_.k_dim,
                     v_.data() + t * spec_.kv_heads * spec_.v_dim);
      }
    }
  }

  // f(q, token of the step, head, position, index of the row in the step) for every query of the last step.
  template <typename F>
  void for_queries(const F& f) const {
    int64_t token = 0;
    for (size_t i = 0; i < brought_.size(); ++i) {
      const int64_t first = expected_rows_[i].length() - brought_[i].tokens;
      for (int64_t t = 0; t < brought_[i].tokens; ++t, ++token) {
        for (int64_t head = 0; head < heads(); ++head) {
          f(q_.data() + (token * heads() + head) * spec_.k_dim, token, head, first + t, i);
        }
      }
    }
  }

  state::KvLayerSpec spec_;
  int64_t group_;
  state::KvOptions options_;
  compute::Context context_;
  std::unique_ptr<state::KvCache> cache_;
  std::vector<Row> rows_;
  std::mt19937 random_{7};
  std::normal_distribution<float> normal_;
  int64_t first_poisoned_ = 0;
  int64_t poisoned_ = 0;
  float softcap_ = 0.0F;
  std::vector<float> sinks_;
  std::vector<float> q_;
  std::vector<float> k_;
  std::vector<float> v_;
  std::vector<float> outputs_[2];
  std::vector<Bring> brought_;                            // of the last step
  std::vector<reference::KvReferenceRow> expected_rows_;  // rows of the last step before anything was cut
};

}  // namespace kvern::test
