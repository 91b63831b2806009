// A model's computation: what a family file builds and the engine runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "compute/context.h"
#include "state/sequence/kv_cache.h"

namespace kvern::model {

/// One ragged step.
struct ForwardInput {
  const state::Step& step;          ///< begun on the cache: rows, positions, reserved storage
  std::span<const int32_t> tokens;  ///< [step.tokens()], rows one after another; each inside the vocabulary
  std::span<const int64_t>
      logit_tokens;  ///< indices into tokens, ascending, whose logits are wanted; may be empty
  /// Once it is true, by another thread or a signal, forward() may end between two layers: what it wrote then
  /// is worth nothing. Null: nobody stops it.
  const std::atomic<bool>* stop = nullptr;

  bool stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
};

/// Straight-line code over kernels and the state layer. Owns its activation buffers and borrows the weights;
/// one thread.
class Graph {
 public:
  virtual ~Graph() = default;
  /// Appends keys and values of every layer to `kv` and writes logits [logit_tokens, vocab]. The caller
  /// commits, unless the input says stopped().
  virtual void forward(compute::Context& context, state::KvCache& kv, const ForwardInput& input,
                       float* logits) = 0;
};

}  // namespace kvern::model
