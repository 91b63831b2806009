// Element and block formats of weights, as stored in files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvern::compute {

/// How numbers are stored. The k_ and q_ formats are ggml's block formats (docs/formats/weights.md has the
/// byte tables); kAffine4 and kAffine8 are MLX's affine quantization, whose scales and biases are separate
/// arrays.
enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kAffine4,
  kAffine8,
};

inline constexpr int kDTypeCount = 13;

/// `block_elements` consecutive elements of a row occupy `block_bytes` bytes. For the affine types only the
/// codes count (8 elements in 4 bytes, 4 elements in 4 bytes).
struct DTypeTraits {
  std::string_view name;  ///< "f16", "q4_k", … as in command-line options
  int block_elements;
  int block_bytes;
};

const DTypeTraits& traits(DType type);

/// Bytes of one row of `elements` elements, a multiple of the block.
inline size_t row_bytes(DType type, int64_t elements) {
  const DTypeTraits& t = traits(type);
  return static_cast<size_t>(elements / t.block_elements) * static_cast<size_t>(t.block_bytes);
}

}  // namespace kvern::compute
