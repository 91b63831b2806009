// Rotary position embedding: rotates pairs of elements of each head by an angle that grows with the position.
//
// Source: Su et al., RoFormer (arXiv 2104.09864). Scalings: linear (position interpolation, arXiv
// 2306.15595), dynamic NTK, llama3, YaRN (arXiv 2309.00071), LongRoPE (arXiv 2402.13753), with the parameter
// names and the f32 rounding steps of transformers' modeling_rope_utils, so that logits agree at long
// positions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/context.h"

namespace kvern::compute {

/// Which elements form a pair: (2i, 2i+1), or (i, i + rotary_dims / 2).
enum class RopePairing : uint8_t { kInterleaved, kHalfSplit };

enum class RopeScaling : uint8_t { kNone, kLinear, kDynamicNtk, kLlama3, kYarn, kLongRope };

/// Everything that decides the frequencies. Fields that a scaling does not name are not read.
struct RopeConfig {
  RopePairing pairing = RopePairing::kHalfSplit;
  int64_t rotary_dims = 0;  ///< leading elements of a head that rotate; even; the rest pass unchanged
  double theta = 10000.0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;            ///< linear, dynamic, llama3, yarn; longrope: for the attention factor
  int64_t original_context = 0;   ///< dynamic, llama3, yarn, longrope: the context of the pretraining
  int64_t context = 0;            ///< dynamic, longrope: the longest row that this engine will run. The
                                  ///< frequencies depend on it and never on a row's length so far, since
                                  ///< else chunking would show.
  double low_freq_factor = 1.0;   ///< llama3
  double high_freq_factor = 4.0;  ///< llama3
  double beta_fast = 32.0;        ///< yarn
  double beta_slow = 1.0;         ///< yarn
  bool truncate = true;           ///< yarn: correction range rounded outwards to whole dimensions
  std::optional<double> mscale;   ///< yarn
  std::optional<double> mscale_all_dim;    ///< yarn
  std::optional<double> attention_factor;  ///< yarn, longrope: instead of the derived one
  std::vector<float> short_factors;        ///< longrope [rotary_dims / 2], for context <= original_context
  std::vector<float> long_factors;         ///< longrope [rotary_dims / 2], for longer contexts
  /// GGUF tensor rope_freqs [rotary_dims / 2]: divides the frequencies of every kind. Empty = none.
  std::vector<float> freq_factors;
};

/// The frequencies of one model (or one kind of its layers). Immutable.
class RopeTable {
 public:
  /// kInvalidArgument when a value is missing, out of range or of the wrong length.
  static Result<RopeTable> create(const RopeConfig& config);

  RopePairing pairing() const { return pairing_; }
  int64_t rotary_dims() const { return 2 * static_cast<int64_t>(inverse_frequencies_.size()); }
  /// Radians per position, f32, one for each pair.
  std::span<const float> inverse_frequencies() const { return inverse_frequencies_; }
  /// Multiplies cosine and sine (1 except for yarn and longrope).
  float attention_factor() const { return attention_factor_; }

 private:
  RopeTable() = default;
  RopePairing pairing_ = RopePairing::kHalfSplit;
  std::vector<float> inverse_frequencies_;
  float attention_factor_ = 1.0F;
};

/// Cosines and sines of the positions of one step, made once and used by all layers. One thread writes
/// (prepare); kernels read.
class RopeAngles {
 public:
  /// positions [tokens], each in [0, 2^24]. The angle is float(position) * inverse_frequency rounded to f32;
  /// its cosine and sine are computed in double, rounded to f32 and multiplied by the attention factor in
  /// f32.
  void prepare(const RopeTable& table, std::span<const int64_t> positions);

  int64_t tokens() const { return tokens_; }
  int64_t pairs() const { return pairs_; }
  RopePairing pairing() const { return pairing_; }
  const float* cosines(int64_t token) const { return values_.data() + 2 * token * pairs_; }  ///< [pairs]
  const float* sines(int64_t token) const { return cosines(token) + pairs_; }                ///< [pairs]

 private:
  RopePairing pairing_ = RopePairing::kHalfSplit;
  int64_t tokens_ = 0;
  int64_t pairs_ = 0;
  std::vector<float> values_;  // [tokens, 2, pairs]
};

/// x [tokens, heads, head_dim], rotated in place; one token for each of the prepared positions.
struct RopeTask {
  float* x = nullptr;
  int64_t heads = 0;
  int64_t head_dim = 0;  ///< at least 2 * pairs
  int64_t stride = 0;    ///< floats from token to token; 0 = heads * head_dim
};

/// (a, b) -> (a cos - b sin, b cos + a sin) for each pair; the second product of each is added by fma.
void rope(Context& context, const RopeAngles& angles, const RopeTask& task);

}  // namespace kvern::compute
