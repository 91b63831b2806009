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

/// Exact conversions of one stored number.
float f16_bits_to_f32(uint16_t bits);
float bf16_bits_to_f32(uint16_t bits);

}  // namespace kvern::model
