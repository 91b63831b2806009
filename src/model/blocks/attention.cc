#include "model/blocks/attention.h"

#include <utility>

#include "compute/kernels/elementwise.h"
#include "compute/kernels/matmul.h"
#include "model/blocks/bias.h"

namespace kvern::model {

AttentionBlock::AttentionBlock(const ModelConfig& config) : config_(&config) {
  for (int64_t layer = 0; layer < config.layers; ++layer) owners_.push_back(kv_owner(config, layer));
}

Result<AttentionBlock> AttentionBlock::create(const ModelConfig& config) {
  AttentionBlock block(config);
  KVERN_TRY_STATUS(block.add_rope(config.rope));
  if (config.local_rope) KVERN_TRY_STATUS(block.add_rope(*config.local_rope));
  return block;
}

Status AttentionBlock::add_rope(const compute::RopeConfig& rope) {
  KVERN_TRY(compute::RopeTable table, compute::RopeTable::create(rope));
  ropes_.push_back({std::move(table), {}});
  return Ok{};
}

void AttentionBlock::prepare(std::span<const int64_t> positions) {
  for (Rope& rope : ropes_) rope.angles.prepare(rope.table, positions);
}

const compute::RopeAngles& AttentionBlock::angles(int64_t layer) const {
  return is_windowed(*config_, layer) ? ropes_.back().angles : ropes_.front().angles;
}

void AttentionBlock::project(const StepView& step, const LayerView& layer, const float* normed) {
  const ModelConfig& c = *config_;
  const LayerWeights& weights = layer.weights;
  const int64_t q_width = c.heads * c.head_dim_k, k_width = c.kv_heads * c.head_dim_k,
                v_width = c.kv_heads * c.head_dim_v;
  const std::array<compute::MatmulTask, 3> projections = {
      {{weights.q, q_.resize(step.tokens, q_width), q_width},
       {weights.k, k_.resize(step.tokens, k_width), k_width},
       {weights.v, v_.resize(step.tokens, v_width), v_width}}};
  compute::matmul(step.context, {.x = normed, .tokens = step.tokens, .cols = c.hidden, .stride = c.hidden},
                  std::span(projections).first(owns_kv(layer.index) ? 3 : 1));
  add_bias(step, q_.data(), weights.q_bias);
  add_bias(step, k_.data(), weights.k_bias);
  add_bias(step, v_.data(), weights.v_bias);
}

// Heads are normalised each on its own, before the rotation.
void AttentionBlock::normalise(const StepView& step, const LayerWeights& layer) {
  const ModelConfig& c = *config_;
  const auto heads = [&](float* x, int64_t groups, int64_t n) {
    return compute::NormTask{.x = x, .out = x, .tokens = step.tokens, .groups = groups, .n = n};
  };
  if (!layer.q_norm.empty())
    compute::rms_norm(step.context, heads(q_.data(), c.heads, c.head_dim_k), norm_of(c, layer.q_norm));
  if (!layer.k_norm.empty())
    compute::rms_norm(step.context, heads(k_.data(), c.kv_heads, c.head_dim_k), norm_of(c, layer.k_norm));
  if (c.v_norm && layer.v.rows > 0)
    compute::rms_norm(step.context, heads(v_.data(), c.kv_heads, c.head_dim_v), norm_of(c, {}));
}

void AttentionBlock::run(const StepView& step, const LayerView& layer, const float* normed, float* out) {
  const ModelConfig& c = *config_;
  project(step, layer, normed);
  normalise(step, layer.weights);
  const compute::RopeAngles& turned = angles(layer.index);
  compute::rope(step.context, turned, {.x = q_.data(), .heads = c.heads, .head_dim = c.head_dim_k});

  const auto owner = static_cast<state::LayerIndex>(owners_[static_cast<size_t>(layer.index)]);
  if (owns_kv(layer.index)) {
    compute::rope(step.context, turned, {.x = k_.data(), .heads = c.kv_heads, .head_dim = c.head_dim_k});
    step.kv.append(step.context, owner, step.input.step, {.k = k_.data(), .v = v_.data()});
  }
  const int64_t width = c.heads * c.head_dim_v;
  float* attended = attended_.resize(step.tokens, width);
  step.kv.attend(step.context, owner, step.input.step,
                 {.q = q_.data(),
                  .out = attended,
                  .heads = c.heads,
                  .scale = c.attention_scale,
                  .softcap = c.attention_softcap});
  const compute::MatmulTask output{layer.weights.attn_output, out, c.hidden};
  compute::matmul(step.context, {.x = attended, .tokens = step.tokens, .cols = width, .stride = width},
                  {&output, 1});
  add_bias(step, out, layer.weights.attn_output_bias);
}

}  // namespace kvern::model
