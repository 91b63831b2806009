// What a model is, in one plain struct: everything that a graph needs to know and nothing about files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compute/kernels/rope.h"
#include "model/config/gemma3n_config.h"
#include "model/config/quantization.h"

namespace kvern::model {

enum class Family : uint8_t { kLlama, kMistral, kQwen2, kQwen3, kPhi3, kGemma, kGemma2, kGemma3, kGemma3n };
/// "llama", "mistral", …
std::string_view to_string(Family family);
/// Gemma 1, 2, 3 or 3n; all of them but the first.
bool is_gemma(Family family);
bool is_later_gemma(Family family);
/// Whether models of the family may cap their scores.
bool has_score_cap(Family family);

/// Whose tensor names and conventions the weights follow.
enum class SourceKind : uint8_t { kGguf, kHuggingFace };

enum class Activation : uint8_t { kSilu, kGeluTanh };

/// A sliding window: position p sees positions (p - tokens, p].
struct SlidingWindow {
  int64_t tokens = 0;
  std::vector<bool> layers;  ///< [layers]: true where the window holds
};

/// Immutable once built. Sizes in elements, contexts in tokens.
struct ModelConfig {
  Family family = Family::kLlama;
  SourceKind source = SourceKind::kGguf;
  std::string name;  ///< for people; may be empty

  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t ffn = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;    ///< divides heads
  int64_t head_dim_k = 0;  ///< of queries and keys
  int64_t head_dim_v = 0;  ///< of values
  int64_t vocab = 0;       ///< rows of the embedding, at least the tokenizer's ids
  int64_t context = 0;     ///< the longest row that the model was made for

  double norm_eps = 1e-5;
  /// Added to stored norm weights when they are loaded: 1 for Gemma as Hugging Face stores it, else 0.
  float norm_weight_offset = 0.0F;
  float embedding_scale = 1.0F;    ///< multiplies token embeddings
  float attention_scale = 0.0F;    ///< multiplies q·k, usually 1 / sqrt(head_dim_k)
  float attention_softcap = 0.0F;  ///< soft cap of the scaled q·k; 0: none
  float logit_softcap = 0.0F;      ///< soft cap of the logits; 0: none
  Activation activation = Activation::kSilu;

  bool tied = false;      ///< the output matrix is the token embedding
  bool qkv_bias = false;  ///< of the q, k and v projections
  bool attention_output_bias = false;
  bool mlp_bias = false;    ///< of gate, up and down
  bool qk_norm = false;     ///< RMS norm of each head's q and k before rope
  bool v_norm = false;      ///< RMS norm, without weights, of each head's v
  bool post_norms = false;  ///< RMS norms of what attention and feed-forward add to the stream

  /// Pairing, scaling and its numbers. `rope.context` is `context`; an engine that runs shorter rows lowers
  /// it.
  compute::RopeConfig rope;
  /// Of the layers with a window, where theirs is another one.
  std::optional<compute::RopeConfig> local_rope;

  /// Absent when every layer attends to everything.
  std::optional<SlidingWindow> window;

  /// The last so many layers have no keys and values of their own; see kv_owner.
  int64_t shared_kv_layers = 0;

  std::optional<Gemma3nConfig> gemma3n;  ///< of that family only

  std::vector<int32_t> end_tokens;  ///< sorted, distinct; any of them ends a generation

  /// MLX affine quantization of a Hugging Face folder; absent when the weights are stored plain.
  std::optional<AffineQuantization> quantization;

  /// Where each value came from, by field: "rope.theta" -> "llama.rope.freq_base", or "default".
  std::map<std::string, std::string, std::less<>> origins;
};

/// Whether the sliding window holds in a layer.
bool is_windowed(const ModelConfig& config, int64_t layer);

/// Layers that own keys and values; they are the first ones.
int64_t kv_layers(const ModelConfig& config);

/// The layer whose keys and values `layer` attends to: itself, or for the last shared_kv_layers the last
/// owning layer of its kind (windowed or not). `config` was checked.
int64_t kv_owner(const ModelConfig& config, int64_t layer);

/// Checks what no graph could run: sizes positive and within bounds, heads divisible, rope dimensions, widths
/// equal, lists as long as there are layers, an owner for each layer that shares. Both builders end with it.
/// `where` is named in errors.
Status check_config(const ModelConfig& config, const std::string& where);

/// The facts that decide what is computed (not names, origins, end tokens or the context), one "key=value" a
/// line in a fixed order: what the fingerprint hashes.
std::string config_facts(const ModelConfig& config);

}  // namespace kvern::model
