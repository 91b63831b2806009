// Writes models of real geometry with random weights, for benchmarks and tests.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "compute/tensor/dtype.h"

namespace kvern::model {

struct SynthOptions {
  std::string preset;  ///< a name from synth_presets()
  compute::DType type = compute::DType::kF16;
  uint64_t seed = 1;
  std::string path;
  int threads = 1;
  std::function<bool()> is_cancelled;  ///< asked between batches of rows; may be empty
};

/// A matrix whose rows are no multiple of the wanted type's block.
struct SynthFallback {
  std::string tensor;
  compute::DType used;
};

struct SynthReport {
  uint64_t bytes = 0;       ///< of the file
  uint64_t parameters = 0;  ///< elements of all tensors
  std::vector<SynthFallback> fallbacks;
};

/// Writes a GGUF file that kvern and llama.cpp load: every matrix (the embedding too) in `type`, norms and
/// biases in f32. The weights depend on preset and seed only, so files of different types hold the same model
/// up to rounding; they are scaled so that activations and logits stay near one. Rows that the type's blocks
/// do not divide get q8_0, else f16, and the report lists them. Appears under `path` only when complete.
/// A device or pipe at `path` is written to directly. kCancelled when is_cancelled said so;
/// kInvalidArgument for an unknown preset (the message lists them) and for the affine types.
Result<SynthReport> write_synthetic_model(Files& files, const SynthOptions& options);

}  // namespace kvern::model
