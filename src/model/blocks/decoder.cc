#include "model/blocks/decoder.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "compute/kernels/elementwise.h"
#include "compute/kernels/matmul.h"

namespace kvern::model {

/// What the parts of one forward pass share.
struct DenseDecoder::StepView {
  compute::Context& context;
  state::KvCache& kv;
  const ForwardInput& input;
  int64_t tokens;
};

namespace {

/// out += bias where the model has one.
void add_bias(compute::Context& context, float* out, int64_t tokens, const std::vector<float>& bias) {
  if (!bias.empty()) compute::add_bias(context, {.x = out, .tokens = tokens}, bias);
}

}  // namespace

compute::Activation activation_of(const ModelConfig& config) {
  switch (config.activation) {
    case Activation::kSilu:
      return compute::Activation::kSilu;
    case Activation::kGeluTanh:
      return compute::Activation::kGeluTanh;
  }
  KVERN_CHECK(false);
}

DenseDecoder::DenseDecoder(const ModelConfig& config, const LoadedWeights& weights, compute::RopeTable rope,
                           DecoderTraits traits)
    : config_(config), weights_(weights), rope_(std::move(rope)), traits_(traits) {}

compute::RmsNormWeights DenseDecoder::norm(const std::vector<float>& weight) const {
  // The offset of Gemma's norms was applied when the weights were loaded.
  return {.weight = weight.data(), .eps = static_cast<float>(config_.norm_eps)};
}

void DenseDecoder::forward(compute::Context& context, state::KvCache& kv, const ForwardInput& input,
                           float* logits) {
  const StepView step{context, kv, input, input.step.tokens()};
  KVERN_CHECK(static_cast<size_t>(step.tokens) == input.tokens.size());
  if (step.tokens == 0) return;
  buffers_.angles.prepare(rope_, input.step.positions());
  embed(step);
  for (size_t i = 0; i < weights_.layers.size(); ++i) {
    attention(step, weights_.layers[i], static_cast<state::LayerIndex>(i));
    feed_forward(step, weights_.layers[i]);
  }
  write_logits(step, logits);
}

void DenseDecoder::embed(const StepView& step) {
  float* residual = buffers_.residual.resize(step.tokens, config_.hidden);
  step.context.pool().run(step.tokens, [&](int64_t token, int) {
    compute::decode_row(weights_.token_embedding, step.input.tokens[static_cast<size_t>(token)],
                        residual + token * config_.hidden);
  });
  if (traits_.embedding_scale != 1.0F) {
    compute::scale(step.context, {residual, static_cast<size_t>(step.tokens * config_.hidden)},
                   traits_.embedding_scale);
  }
}

void DenseDecoder::attention(const StepView& step, const LayerWeights& layer, state::LayerIndex index) {
  compute::Context& context = step.context;
  const int64_t tokens = step.tokens;
  const int64_t heads = config_.heads, kv_heads = config_.kv_heads, dim_k = config_.head_dim_k,
                dim_v = config_.head_dim_v;
  float* residual = buffers_.residual.data();
  float* normed = buffers_.normed.resize(tokens, config_.hidden);
  float* q = buffers_.q.resize(tokens, heads * dim_k);
  float* k = buffers_.k.resize(tokens, kv_heads * dim_k);
  float* v = buffers_.v.resize(tokens, kv_heads * dim_v);

  compute::rms_norm(context, {.x = residual, .out = normed, .tokens = tokens, .n = config_.hidden},
                    norm(layer.attn_norm));
  const std::array<compute::MatmulTask, 3> projections = {
      {{layer.q, q, heads * dim_k}, {layer.k, k, kv_heads * dim_k}, {layer.v, v, kv_heads * dim_v}}};
  compute::matmul(context, {.x = normed, .tokens = tokens, .cols = config_.hidden, .stride = config_.hidden},
                  projections);
  add_bias(context, q, tokens, layer.q_bias);
  add_bias(context, k, tokens, layer.k_bias);
  add_bias(context, v, tokens, layer.v_bias);
  if (traits_.qk_norm) {
    compute::rms_norm(context, {.x = q, .out = q, .tokens = tokens, .groups = heads, .n = dim_k},
                      norm(layer.q_norm));
    compute::rms_norm(context, {.x = k, .out = k, .tokens = tokens, .groups = kv_heads, .n = dim_k},
                      norm(layer.k_norm));
  }
  compute::rope(context, buffers_.angles, {.x = q, .heads = heads, .head_dim = dim_k});
  compute::rope(context, buffers_.angles, {.x = k, .heads = kv_heads, .head_dim = dim_k});

  float* attended = buffers_.attended.resize(tokens, heads * dim_v);
  step.kv.append(context, index, step.input.step, {.k = k, .v = v});
  step.kv.attend(context, index, step.input.step,
                 {.q = q, .out = attended, .heads = heads, .scale = config_.attention_scale});

  float* branch = buffers_.branch.resize(tokens, config_.hidden);
  const compute::MatmulTask output{layer.attn_output, branch, config_.hidden};
  compute::matmul(context, {.x = attended, .tokens = tokens, .cols = heads * dim_v, .stride = heads * dim_v},
                  {&output, 1});
  add_bias(context, branch, tokens, layer.attn_output_bias);
  const auto size = static_cast<size_t>(tokens * config_.hidden);
  compute::add(context, {residual, size}, {branch, size}, {residual, size});
}

void DenseDecoder::feed_forward(const StepView& step, const LayerWeights& layer) {
  compute::Context& context = step.context;
  const int64_t tokens = step.tokens, ffn = config_.ffn;
  float* residual = buffers_.residual.data();
  float* normed = buffers_.normed.data();
  float* gate = buffers_.gate.resize(tokens, ffn);
  float* up = buffers_.up.resize(tokens, ffn);
  float* branch = buffers_.branch.data();

  compute::rms_norm(context, {.x = residual, .out = normed, .tokens = tokens, .n = config_.hidden},
                    norm(layer.ffn_norm));
  const std::array<compute::MatmulTask, 2> inputs = {{{layer.gate, gate, ffn}, {layer.up, up, ffn}}};
  compute::matmul(context, {.x = normed, .tokens = tokens, .cols = config_.hidden, .stride = config_.hidden},
                  inputs);
  add_bias(context, gate, tokens, layer.gate_bias);
  add_bias(context, up, tokens, layer.up_bias);
  compute::glu(context, traits_.activation,
               {.gate = gate, .up = up, .out = gate, .tokens = tokens, .n = ffn});
  const compute::MatmulTask output{layer.down, branch, config_.hidden};
  compute::matmul(context, {.x = gate, .tokens = tokens, .cols = ffn, .stride = ffn}, {&output, 1});
  add_bias(context, branch, tokens, layer.down_bias);
  const auto size = static_cast<size_t>(tokens * config_.hidden);
  compute::add(context, {residual, size}, {branch, size}, {residual, size});
}

// Only the positions that somebody reads: a prompt needs its last one.
void DenseDecoder::write_logits(const StepView& step, float* logits) {
  const auto wanted = static_cast<int64_t>(step.input.logit_tokens.size());
  if (wanted == 0) return;
  const int64_t hidden = config_.hidden;
  float* rows = buffers_.normed.resize(wanted, hidden);
  const float* residual = buffers_.residual.data();
  for (int64_t i = 0; i < wanted; ++i) {
    const float* from = residual + step.input.logit_tokens[static_cast<size_t>(i)] * hidden;
    std::copy(from, from + hidden, rows + i * hidden);
  }
  compute::rms_norm(step.context, {.x = rows, .out = rows, .tokens = wanted, .n = hidden},
                    norm(weights_.output_norm));
  const compute::MatmulTask output{weights_.output, logits, config_.vocab};
  compute::matmul(step.context, {.x = rows, .tokens = wanted, .cols = hidden, .stride = hidden},
                  {&output, 1});
}

}  // namespace kvern::model
