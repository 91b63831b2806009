// Small tensors as numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "model/tensor_source.h"

namespace kvern::model {

/// The elements of a vector [count] of f32, f16 or bf16, as f32. Another shape or type, or a value that is
/// not finite: kCorrupt with file, tensor and what was expected.
Result<std::vector<float>> f32_values(const StoredTensor& tensor, int64_t count);

}  // namespace kvern::model
