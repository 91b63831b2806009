#include "model/config/model_config.h"

#include <cmath>
#include <utility>

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

Status check_rope(const compute::RopeConfig& rope, int64_t head_dim, const std::string& where) {
  if (rope.rotary_dims < 2 || rope.rotary_dims % 2 != 0 || rope.rotary_dims > head_dim)
    return fail(
        ErrorCode::kCorrupt,
        fmt::format("rope rotates {} dimensions of a head of {}; it must be an even number up to that",
                    rope.rotary_dims, head_dim),
        where);
  if (!(rope.theta > 0.0) || !std::isfinite(rope.theta))
    return fail(ErrorCode::kCorrupt, fmt::format("the rope base is {}; it must be positive", rope.theta),
                where);
  return Ok{};
}

// Windows, and the layers that share keys and values.
Status check_layers(const ModelConfig& c, const std::string& where) {
  const auto corrupt = [&](std::string reason) {
    return fail(ErrorCode::kCorrupt, std::move(reason), where);
  };
  if (c.window && c.window->tokens < 1)
    return corrupt(fmt::format("the sliding window is {} tokens; it must be positive", c.window->tokens));
  if (c.window && std::cmp_not_equal(c.window->layers.size(), c.layers))
    return corrupt(
        fmt::format("windows are declared for {} of {} layers", c.window->layers.size(), c.layers));
  if (c.shared_kv_layers < 0 || c.shared_kv_layers >= c.layers)
    return corrupt(
        fmt::format("{} of {} layers share keys and values of earlier ones", c.shared_kv_layers, c.layers));
  for (int64_t layer = kv_layers(c); layer < c.layers; ++layer) {
    int64_t owner = 0;
    while (owner < kv_layers(c) && is_windowed(c, owner) != is_windowed(c, layer)) ++owner;
    if (owner == kv_layers(c))
      return corrupt(
          fmt::format("layer {} shares keys and values, but no layer before the sharing ones has "
                      "its kind of attention",
                      layer));
  }
  return Ok{};
}

std::string optional_text(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "-";
}

std::string rope_facts(std::string_view name, const compute::RopeConfig& r) {
  return fmt::format(
      "{0}.pairing={1}\n{0}.dims={2}\n{0}.theta={3}\n{0}.scaling={4}\n{0}.factor={5}\n"
      "{0}.original_context={6}\n{0}.frequency_bounds={7} {8}\n{0}.betas={9} {10} {11}\n"
      "{0}.mscale={12} {13}\n{0}.attention_factor={14}\n{0}.short={15}\n{0}.long={16}\n"
      "{0}.divisors={17}\n",
      name, r.pairing == compute::RopePairing::kInterleaved ? "interleaved" : "half-split", r.rotary_dims,
      r.theta, to_string(r.scaling), r.factor, r.original_context, r.low_freq_factor, r.high_freq_factor,
      r.beta_fast, r.beta_slow, r.truncate, optional_text(r.mscale), optional_text(r.mscale_all_dim),
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
    case Family::kGemma2:
      return "gemma2";
    case Family::kGemma3:
      return "gemma3";
    case Family::kGemma3n:
      return "gemma3n";
  }
  return "?";
}

bool is_later_gemma(Family family) {
  return family == Family::kGemma2 || family == Family::kGemma3 || family == Family::kGemma3n;
}

bool has_score_cap(Family family) { return family == Family::kGemma2 || family == Family::kGemma3; }

bool is_gemma(Family family) { return family == Family::kGemma || is_later_gemma(family); }

bool is_windowed(const ModelConfig& config, int64_t layer) {
  return config.window && config.window->layers.at(static_cast<size_t>(layer));
}

int64_t kv_layers(const ModelConfig& config) { return config.layers - config.shared_kv_layers; }

int64_t kv_owner(const ModelConfig& config, int64_t layer) {
  if (layer < kv_layers(config)) return layer;
  int64_t owner = kv_layers(config) - 1;
  while (is_windowed(config, owner) != is_windowed(config, layer)) --owner;
  return owner;
}

Status check_config(const ModelConfig& c, const std::string& where) {
  KVERN_TRY_STATUS(check_bounds(c, where));
  const auto corrupt = [&](std::string reason) {
    return fail(ErrorCode::kCorrupt, std::move(reason), where);
  };
  if (c.heads % c.kv_heads != 0)
    return corrupt(fmt::format("{} attention heads cannot share {} key-value heads", c.heads, c.kv_heads));
  KVERN_TRY_STATUS(check_rope(c.rope, c.head_dim_k, where));
  if (c.local_rope) KVERN_TRY_STATUS(check_rope(*c.local_rope, c.head_dim_k, where));
  if (!(c.norm_eps > 0.0) || !std::isfinite(c.norm_eps))
    return corrupt(fmt::format("the epsilon of the norms is {}; it must be positive", c.norm_eps));
  if (!(c.attention_scale > 0.0F) || !std::isfinite(c.attention_scale))
    return corrupt(fmt::format("the attention scale is {}; it must be positive", c.attention_scale));
  for (const float cap : {c.attention_softcap, c.logit_softcap})
    if (!(cap >= 0.0F) || !std::isfinite(cap))
      return corrupt(fmt::format("a soft cap is {}; it must be positive, or 0 for none", cap));
  KVERN_TRY_STATUS(check_layers(c, where));
  if (c.gemma3n) KVERN_TRY_STATUS(check_gemma3n(*c.gemma3n, c.layers, where));
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
  facts += rope_facts("rope", c.rope);
  if (c.local_rope) facts += rope_facts("local_rope", *c.local_rope);
  if (c.attention_softcap != 0.0F) facts += fmt::format("attention_softcap={}\n", c.attention_softcap);
  if (c.logit_softcap != 0.0F) facts += fmt::format("logit_softcap={}\n", c.logit_softcap);
  if (c.v_norm) facts += "v_norm=true\n";
  if (c.post_norms) facts += "post_norms=true\n";
  if (c.shared_kv_layers != 0) facts += fmt::format("shared_kv_layers={}\n", c.shared_kv_layers);
  if (c.gemma3n) facts += gemma3n_facts(*c.gemma3n);
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
