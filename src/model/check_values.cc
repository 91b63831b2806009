#include "model/check_values.h"

#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "model/printable.h"

namespace kvern::model {
namespace {

using compute::DType;

constexpr uint32_t kF16Exponent = 0x7c00;
constexpr uint32_t kBF16Exponent = 0x7f80;
constexpr uint32_t kF32Exponent = 0x7f800000;

// Where a block keeps its floating-point numbers, and their exponent's bits: all ones means not finite.
struct BlockNumbers {
  uint32_t exponent = kF16Exponent;
  size_t bytes = 2;             ///< of one number
  std::vector<size_t> offsets;  ///< in a block
};

BlockNumbers numbers_of(DType type) {
  switch (type) {
    case DType::kF32:
      return {kF32Exponent, 4, {0}};
    case DType::kBF16:
      return {kBF16Exponent, 2, {0}};
    case DType::kF16:
    case DType::kQ8_0:
    case DType::kQ4_0:
    case DType::kQ5_0:
      return {kF16Exponent, 2, {0}};
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return {kF16Exponent, 2, {0, 2}};
    case DType::kQ6_K:
      return {kF16Exponent, 2, {208}};
    case DType::kAffine4:
    case DType::kAffine8:
      break;
  }
  KVERN_CHECK(!"a type that a file names");
  return {};
}

}  // namespace

Status check_finite(const StoredTensor& tensor) {
  if (!tensor.type) return Ok{};
  const compute::DTypeTraits& traits = compute::traits(*tensor.type);
  const BlockNumbers numbers = numbers_of(*tensor.type);
  const auto block_bytes = static_cast<size_t>(traits.block_bytes);
  for (size_t block = 0; block < tensor.bytes.size() / block_bytes; ++block) {
    for (const size_t offset : numbers.offsets) {
      uint32_t bits = 0;
      std::memcpy(&bits, tensor.bytes.data() + block * block_bytes + offset, numbers.bytes);
      if ((bits & numbers.exponent) != numbers.exponent) continue;
      return fail(
          ErrorCode::kCorrupt,
          fmt::format("{} {} of type {} is not finite",
                      traits.block_elements == 1 ? "element" : "a scale of block", block, traits.name),
          std::string(tensor.file) + ": tensor " + printable(tensor.name));
    }
  }
  return Ok{};
}

Status check_finite(const TensorSource& source) {
  KVERN_TRY_STATUS(source.check_unchanged());
  for (const StoredTensor& tensor : source.list()) KVERN_TRY_STATUS(check_finite(tensor));
  return Ok{};
}

}  // namespace kvern::model
