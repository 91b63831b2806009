#include "model/synth/synthetic_tensors.h"

#include <cmath>
#include <numbers>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "model/config/tensor_names.h"

namespace kvern::model {
namespace {

// The name under which llama.cpp knows the family; Mistral is a llama there.
std::string_view architecture(Family family) {
  return family == Family::kMistral ? std::string_view("llama") : to_string(family);
}

// Wavelength-dependent divisors of Llama 3.1 (modeling_rope_utils.py of transformers, llama3).
std::vector<float> llama3_divisors(const SynthPreset& p) {
  constexpr double kLow = 1.0;
  constexpr double kHigh = 4.0;
  const auto original = static_cast<double>(p.original_context);
  std::vector<float> out;
  for (int64_t i = 0; i < p.head_dim / 2; ++i) {
    const double frequency =
        std::pow(p.rope_theta, -2.0 * static_cast<double>(i) / static_cast<double>(p.head_dim));
    const double wavelength = 2.0 * std::numbers::pi / frequency;
    double divisor = 1.0;
    if (wavelength > original / kLow) {
      divisor = p.rope_factor;
    } else if (wavelength > original / kHigh) {
      const double smooth = (original / wavelength - kLow) / (kHigh - kLow);
      divisor = 1.0 / ((1.0 - smooth) / p.rope_factor + smooth);
    }
    out.push_back(static_cast<float>(divisor));
  }
  return out;
}

// A smooth rise to `top`: the originals come from a search, their course is of this kind.
std::vector<float> long_rope_factors(const SynthPreset& p, double top) {
  std::vector<float> out;
  const int64_t pairs = p.head_dim / 2;
  out.reserve(static_cast<size_t>(pairs));
  for (int64_t i = 0; i < pairs; ++i)
    out.push_back(static_cast<float>(std::pow(top, static_cast<double>(i) / static_cast<double>(pairs - 1))));
  return out;
}

class Builder {
 public:
  explicit Builder(const SynthPreset& preset)
      : p_(preset), residual_(1.0F / std::sqrt(2.0F * static_cast<float>(preset.layers))) {}

  std::vector<SynthTensor> build() {
    // Logits of about one: the last norm gives values near one, hidden of which are summed.
    matrix(Module::kTokenEmbedding, p_.vocab, p_.hidden, 1.0F);
    if (!p_.tied) matrix(Module::kOutput, p_.vocab, p_.hidden, 1.0F);
    vector(Module::kOutputNorm, "weight", p_.hidden, {1.0F, 0.1F});
    rope();
    for (layer_ = 0; layer_ < p_.layers; ++layer_) {
      attention();
      mlp();
    }
    return std::move(out_);
  }

 private:
  std::string name(Module module, std::string_view part) const {
    return fmt::format("{}.{}", module_name(SourceKind::kGguf, module, layer_), part);
  }
  void matrix(Module module, int64_t rows, int64_t cols, float gain) {
    const float deviation = gain / std::sqrt(static_cast<float>(cols));
    out_.push_back({name(module, "weight"), {rows, cols}, {0.0F, deviation}, {}});
  }
  void vector(Module module, std::string_view part, int64_t count, Distribution distribution) {
    out_.push_back({name(module, part), {count}, distribution, {}});
  }
  void values(std::string tensor, std::vector<float> numbers) {
    const auto count = static_cast<int64_t>(numbers.size());
    out_.push_back({std::move(tensor), {count}, {}, std::move(numbers)});
  }

  void rope() {
    if (p_.rope == SynthRope::kLlama3) values("rope_freqs.weight", llama3_divisors(p_));
    if (p_.rope != SynthRope::kLongRope) return;
    values("rope_factors_long.weight", long_rope_factors(p_, 2.0 * p_.rope_factor));
    values("rope_factors_short.weight", long_rope_factors(p_, 2.0));
  }

  void attention() {
    const int64_t q = p_.heads * p_.head_dim;
    const int64_t kv = p_.kv_heads * p_.head_dim;
    vector(Module::kAttnNorm, "weight", p_.hidden, {1.0F, 0.1F});
    if (p_.family == Family::kPhi3) {
      matrix(Module::kAttnQkv, q + 2 * kv, p_.hidden, 1.0F);
    } else {
      matrix(Module::kAttnQ, q, p_.hidden, 1.0F);
      matrix(Module::kAttnK, kv, p_.hidden, 1.0F);
      matrix(Module::kAttnV, kv, p_.hidden, 1.0F);
    }
    if (p_.family == Family::kQwen2) {
      vector(Module::kAttnQ, "bias", q, {0.0F, 0.1F});
      vector(Module::kAttnK, "bias", kv, {0.0F, 0.1F});
      vector(Module::kAttnV, "bias", kv, {0.0F, 0.1F});
    }
    if (p_.family == Family::kQwen3 || p_.family == Family::kGemma3) {
      vector(Module::kAttnQNorm, "weight", p_.head_dim, {1.0F, 0.1F});
      vector(Module::kAttnKNorm, "weight", p_.head_dim, {1.0F, 0.1F});
    }
    matrix(Module::kAttnOutput, p_.hidden, q, residual_);
    if (is_later_gemma(p_.family)) post_norm(Module::kPostAttnNorm);
  }

  // What is added to the stream has the size of this norm's weights.
  void post_norm(Module module) { vector(module, "weight", p_.hidden, {residual_, 0.1F * residual_}); }

  void mlp() {
    vector(Module::kFfnNorm, "weight", p_.hidden, {1.0F, 0.1F});
    if (p_.family == Family::kPhi3) {
      matrix(Module::kFfnGateUp, 2 * p_.ffn, p_.hidden, 1.0F);
    } else {
      matrix(Module::kFfnGate, p_.ffn, p_.hidden, 1.0F);
      matrix(Module::kFfnUp, p_.ffn, p_.hidden, 1.0F);
    }
    matrix(Module::kFfnDown, p_.hidden, p_.ffn, residual_);
    if (is_later_gemma(p_.family)) post_norm(Module::kPostFfnNorm);
  }

  const SynthPreset& p_;
  float residual_;  ///< gain of what is added to the stream, so that its size does not grow with depth
  int64_t layer_ = 0;
  std::vector<SynthTensor> out_;
};

}  // namespace

std::vector<SynthTensor> synth_tensors(const SynthPreset& preset) { return Builder(preset).build(); }

void add_synth_metadata(const SynthPreset& p, GgufWriter& writer) {
  const std::string prefix = std::string(architecture(p.family)) + '.';
  const auto u32 = [&](std::string_view key, int64_t value) {
    writer.add_u32(prefix + std::string(key), static_cast<uint32_t>(value));
  };
  const auto f32 = [&](std::string_view key, double value) {
    writer.add_f32(prefix + std::string(key), static_cast<float>(value));
  };
  writer.add_string("general.architecture", architecture(p.family));
  // Not the preset's name: llama.cpp expects certain tokens of models that are called phi3.
  writer.add_string("general.name", fmt::format("synthetic, {} layers of {}", p.layers, p.hidden));
  writer.add_u32("general.quantization_version", 2);
  u32("block_count", p.layers);
  u32("context_length", p.context);
  u32("embedding_length", p.hidden);
  u32("feed_forward_length", p.ffn);
  u32("attention.head_count", p.heads);
  u32("attention.head_count_kv", p.kv_heads);
  u32("attention.key_length", p.head_dim);
  u32("attention.value_length", p.head_dim);
  u32("rope.dimension_count", p.head_dim);
  u32("vocab_size", p.vocab);
  f32("attention.layer_norm_rms_epsilon", p.norm_eps);
  f32("rope.freq_base", p.rope_theta);
  if (p.window != 0) u32("attention.sliding_window", p.window);
  if (p.window_period != 0) u32("attention.sliding_window_pattern", p.window_period);
  if (p.attention_softcap != 0) f32("attn_logit_softcapping", p.attention_softcap);
  if (p.logit_softcap != 0) f32("final_logit_softcapping", p.logit_softcap);
  if (p.rope == SynthRope::kLongRope) {
    u32("rope.scaling.original_context_length", p.original_context);
    f32("rope.scaling.attn_factor",
        std::sqrt(1.0 + std::log(p.rope_factor) / std::log(static_cast<double>(p.original_context))));
  }
}

}  // namespace kvern::model
