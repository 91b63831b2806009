#include "model/config/model_config.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kvern::model {
namespace {

// Far above every published model; they keep products of sizes inside 64 bits and loops short.
constexpr int64_t kMaxLayers = 4096;
constexpr int64_t kMaxHeads = 4096;
constexpr int64_t kMaxWidth = int64_t{1} << 24;
constexpr int64_t kMaxTokens = int64_t{1} << 31;

struct Bound {
  std::string_view field;
  int64_t value;
  int64_t max;
};

Status check_bounds(const ModelConfig& c, const std::string& where) {
  const Bound bounds[] = {
      {"layers", c.layers, kMaxLayers},
      {"hidden", c.hidden, kMaxWidth},
      {"ffn", c.ffn, kMaxWidth},
      {"heads", c.heads, kMaxHeads},
      {"kv_heads", c.kv_heads, kMaxHeads},
      {"head_dim_k", c.head_dim_k, kMaxWidth},
      {"head_dim_v", c.head_dim_v, kMaxWidth},
      {"vocab", c.vocab, kMaxTokens},
      {"context", c.context, kMaxTokens},
  };
  for (const Bound& bound : bounds) {
    if (bound.value >= 1 && bound.value <= bound.max) continue;
    const auto origin = c.origins.find(bound.field);
    return fail(ErrorCode::kCorrupt,
                fmt::format("{} is {}, from {}; it must lie between 1 and {}", bound.field, bound.value,
                            origin == c.origins.end() ? "the file" : origin->second, bound.max),
                where);
  }
  return Ok{};
}

std::string_view to_string(compute::RopeScaling scaling) {
  switch (scaling) {
    case compute::RopeScaling::kNone:
      return "none";
    case compute::RopeScaling::kLinear:
      return "linear";
    case compute::RopeScaling::kDynamicNtk:
      return "dynamic";
    case compute::RopeScaling::kLlama3:
      return "llama3";
    case compute::RopeScaling::kYarn:
      return "yarn";
    case compute::RopeScaling::kLongRope:
      return "longrope";
  }
  return "?";
}

std::string optional_text(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "-";
}

std::string rope_facts(const compute::RopeConfig& r) {
  return fmt::format(
      "rope.pairing={}\nrope.dims={}\nrope.theta={}\nrope.scaling={}\nrope.factor={}\nrope.original_context={"
      "}\n"
      "rope.frequency_bounds={} {}\nrope.betas={} {} {}\nrope.mscale={} {}\nrope.attention_factor={}\n"
      "rope.short={}\nrope.long={}\nrope.divisors={}\n",
      r.pairing == compute::RopePairing::kInterleaved ? "interleaved" : "half-split", r.rotary_dims, r.theta,
      to_string(r.scaling), r.factor, r.original_context, r.low_freq_factor, r.high_freq_factor, r.beta_fast,
      r.beta_slow, r.truncate, optional_text(r.mscale), optional_text(r.mscale_all_dim),
      optional_text(r.attention_factor), fmt::join(r.short_factors, " "), fmt::join(r.long_factors, " "),
      fmt::join(r.freq_factors, " "));
}

}  // namespace

std::string_view to_string(Family family) {
  switch (family) {
    case Family::kLlama:
      return "llama";
    case Family::kMistral:
      return "mistral";
    case Family::kQwen2:
      return "qwen2";
    case Family::kQwen3:
      return "qwen3";
    case Family::kPhi3:
      return "phi3";
    case Family::kGemma:
      return "gemma";
  }
  return "?";
}

int64_t exact_context_without_window(const ModelConfig& config) {
  return config.window ? std::min(config.context, config.window->tokens) : config.context;
}

Status check_config(const ModelConfig& c, const std::string& where) {
  KVERN_TRY_STATUS(check_bounds(c, where));
  const auto corrupt = [&](std::string reason) {
    return fail(ErrorCode::kCorrupt, std::move(reason), where);
  };
  if (c.heads % c.kv_heads != 0)
    return corrupt(fmt::format("{} attention heads cannot share {} key-value heads", c.heads, c.kv_heads));
  if (c.rope.rotary_dims < 2 || c.rope.rotary_dims % 2 != 0 || c.rope.rotary_dims > c.head_dim_k)
    return corrupt(
        fmt::format("rope rotates {} dimensions of a head of {}; it must be an even number up to that",
                    c.rope.rotary_dims, c.head_dim_k));
  if (!(c.rope.theta > 0.0) || !std::isfinite(c.rope.theta))
    return corrupt(fmt::format("the rope base is {}; it must be positive", c.rope.theta));
  if (!(c.norm_eps > 0.0) || !std::isfinite(c.norm_eps))
    return corrupt(fmt::format("the epsilon of the norms is {}; it must be positive", c.norm_eps));
  if (!(c.attention_scale > 0.0F) || !std::isfinite(c.attention_scale))
    return corrupt(fmt::format("the attention scale is {}; it must be positive", c.attention_scale));
  if (c.window && c.window->tokens < 1)
    return corrupt(fmt::format("the sliding window is {} tokens; it must be positive", c.window->tokens));
  for (const int32_t id : c.end_tokens)
    if (id < 0 || id >= c.vocab)
      return corrupt(fmt::format("end-of-sequence id {} is outside the vocabulary of {}", id, c.vocab));
  return Ok{};
}

std::string config_facts(const ModelConfig& c) {
  std::string facts = fmt::format(
      "family={}\nlayers={}\nhidden={}\nffn={}\nheads={}\nkv_heads={}\nhead_dim={} "
      "{}\nvocab={}\nnorm_eps={}\n"
      "norm_offset={}\nembedding_scale={}\nattention_scale={}\nactivation={}\ntied={}\nbiases={} {} "
      "{}\nqk_norm={}\n",
      to_string(c.family), c.layers, c.hidden, c.ffn, c.heads, c.kv_heads, c.head_dim_k, c.head_dim_v,
      c.vocab, c.norm_eps, c.norm_weight_offset, c.embedding_scale, c.attention_scale,
      c.activation == Activation::kSilu ? "silu" : "gelu_tanh", c.tied, c.qkv_bias, c.attention_output_bias,
      c.mlp_bias, c.qk_norm);
  facts += rope_facts(c.rope);
  if (c.window) {
    facts += fmt::format("window={} ", c.window->tokens);
    for (const bool windowed : c.window->layers) facts += windowed ? 'w' : 'f';
    facts += '\n';
  }
  if (c.quantization) {
    const auto text = [](const AffineFormat& f) { return fmt::format("{}/{}", f.bits, f.group_size); };
    facts += fmt::format("affine={}\n", text(c.quantization->standard));
    for (const auto& [module, format] : c.quantization->overrides)
      facts += fmt::format("affine.{}={}\n", module, format ? text(*format) : "plain");
  }
  return facts;
}

}  // namespace kvern::model
