#include "model/config/tensor_values.h"

#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "compute/tensor/float16.h"
#include "model/printable.h"

namespace kvern::model {
namespace {

using compute::DType;

template <typename Stored, typename Convert>
void decode(std::span<const std::byte> bytes, std::vector<float>& out, Convert convert) {
  for (size_t i = 0; i < out.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof stored, sizeof stored);
    out[i] = convert(stored);
  }
}

}  // namespace

Result<std::vector<float>> f32_values(const StoredTensor& tensor, int64_t count) {
  const std::string where = std::string(tensor.file) + ": tensor " + printable(tensor.name);
  if (tensor.shape.size() != 1 || tensor.shape[0] != count)
    return fail(ErrorCode::kCorrupt,
                fmt::format("expected shape [{}], found {}", count, shape_text(tensor.shape)), where);
  std::vector<float> out(static_cast<size_t>(count));
  if (tensor.type == DType::kF32) {
    decode<float>(tensor.bytes, out, [](float x) { return x; });
  } else if (tensor.type == DType::kF16) {
    decode<uint16_t>(tensor.bytes, out, compute::f16_to_f32);
  } else if (tensor.type == DType::kBF16) {
    decode<uint16_t>(tensor.bytes, out, compute::bf16_to_f32);
  } else {
    return fail(ErrorCode::kCorrupt, fmt::format("expected f32, f16 or bf16, found {}", type_name(tensor)),
                where);
  }
  for (size_t i = 0; i < out.size(); ++i)
    if (!std::isfinite(out[i]))
      return fail(ErrorCode::kCorrupt, fmt::format("element {} is {}, no finite number", i, out[i]), where);
  return out;
}

}  // namespace kvern::model
