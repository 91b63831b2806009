// The tensors and metadata of a synthetic model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compute/tensor/dtype.h"
#include "model/gguf/gguf_writer.h"
#include "model/synth/presets.h"
#include "model/synth/random_numbers.h"

namespace kvern::model {

struct SynthTensor {
  std::string name;
  std::vector<int64_t> shape;  ///< outermost first; one dimension: a vector in f32
  Distribution distribution;   ///< of random elements
  std::vector<float> values;   ///< the elements themselves, where they are not random
};

/// In the order of the file.
std::vector<SynthTensor> synth_tensors(const SynthPreset& preset);

/// Everything but general.file_type and the tokenizer.
void add_synth_metadata(const SynthPreset& preset, GgufWriter& writer);

}  // namespace kvern::model
