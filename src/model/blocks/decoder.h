// The dense pre-norm decoder that the Llama-like families share: embedding, layers of attention and gated
// feed-forward, final norm, output matrix. A family file says how its own differs.
#pragma once

#include "compute/kernels/activation.h"
#include "compute/kernels/norm.h"
#include "compute/kernels/rope.h"
#include "model/blocks/buffers.h"
#include "model/config/model_config.h"
#include "model/graph.h"
#include "model/weights.h"

namespace kvern::model {

/// What a family decides.
struct DecoderTraits {
  compute::Activation activation = compute::Activation::kSilu;  ///< of the gate
  bool qk_norm = false;  ///< RMS norm of each head's q and k before rope
  float embedding_scale = 1.0F;
};

/// The kernel for the activation that a configuration names.
compute::Activation activation_of(const ModelConfig& config);

/// Buffers of a step: everything [tokens, …] f32.
struct DecoderBuffers {
  Buffer residual;  ///< [tokens, hidden]: the stream that layers add to
  Buffer normed;    ///< [tokens, hidden]
  Buffer q;         ///< [tokens, heads, head_dim_k]
  Buffer k;         ///< [tokens, kv_heads, head_dim_k]
  Buffer v;         ///< [tokens, kv_heads, head_dim_v]
  Buffer attended;  ///< [tokens, heads, head_dim_v]
  Buffer gate;      ///< [tokens, ffn]
  Buffer up;        ///< [tokens, ffn]
  Buffer branch;    ///< [tokens, hidden]: what a block adds to the residual
  compute::RopeAngles angles;
};

/// The computation itself; see Graph for the contract.
class DenseDecoder : public Graph {
 public:
  /// `config` and `weights` outlive the graph.
  DenseDecoder(const ModelConfig& config, const LoadedWeights& weights, compute::RopeTable rope,
               DecoderTraits traits);
  void forward(compute::Context& context, state::KvCache& kv, const ForwardInput& input,
               float* logits) override;

 private:
  struct StepView;
  void embed(const StepView& step);
  void attention(const StepView& step, const LayerWeights& layer, state::LayerIndex index);
  void feed_forward(const StepView& step, const LayerWeights& layer);
  void write_logits(const StepView& step, float* logits);
  compute::RmsNormWeights norm(const std::vector<float>& weight) const;

  const ModelConfig& config_;
  const LoadedWeights& weights_;
  compute::RopeTable rope_;
  DecoderTraits traits_;
  DecoderBuffers buffers_;
};

}  // namespace kvern::model
