// Geometries of published models, for synthetic ones of the same cost.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/config/model_config.h"

namespace kvern::model {

/// How positions are scaled in the original.
enum class SynthRope : uint8_t {
  kNone,
  kLlama3,    ///< divisors in the tensor rope_freqs
  kLongRope,  ///< factors in the tensors rope_factors_long and _short
};

/// One model that `kvern synth` can write. Sizes as in the original's config.json.
struct SynthPreset {
  std::string_view name;
  Family family = Family::kLlama;
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t ffn = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t vocab = 0;
  int64_t context = 0;
  double norm_eps = 1e-5;
  double rope_theta = 1e4;
  bool tied = true;
  SynthRope rope = SynthRope::kNone;
  double rope_factor = 1.0;
  int64_t original_context = 0;
  int64_t window = 0;         ///< tokens; 0: none
  int64_t window_period = 0;  ///< every such layer sees everything; 0: none does
  double attention_softcap = 0.0;
  double logit_softcap = 0.0;
  std::string_view pretokenizer = "gpt-2";  ///< tokenizer.ggml.pre
};

/// In the order in which help texts list them.
std::span<const SynthPreset> synth_presets();
/// Null if there is none of that name.
const SynthPreset* find_synth_preset(std::string_view name);

}  // namespace kvern::model
