#include "model/weight_finder.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/config/tensor_names.h"
#include "model/config/tensor_values.h"
#include "model/printable.h"

namespace kvern::model {
namespace {

using compute::DType;
using compute::WeightMatrix;

std::string place(const StoredTensor& tensor) {
  return std::string(tensor.file) + ": tensor " + printable(tensor.name);
}

Status check_shape(const StoredTensor& tensor, MatrixShape shape) {
  const int64_t expected[] = {shape.rows, shape.cols};
  if (tensor.shape.size() == 2 && tensor.shape[0] == shape.rows && tensor.shape[1] == shape.cols) return Ok{};
  return fail(ErrorCode::kCorrupt,
              fmt::format("expected shape {}, found {}", shape_text(expected), shape_text(tensor.shape)),
              place(tensor));
}

bool is_float(const StoredTensor& tensor) {
  return tensor.type == DType::kF32 || tensor.type == DType::kF16 || tensor.type == DType::kBF16;
}

}  // namespace

uint64_t stored_bytes(const WeightMatrix& matrix) {
  uint64_t bytes = matrix.row_stride_bytes * static_cast<uint64_t>(matrix.rows);
  if (matrix.affine.scales != nullptr)
    bytes += 2 * static_cast<uint64_t>(matrix.rows) *
             compute::row_bytes(matrix.affine.type, matrix.cols / matrix.affine.group_size);
  return bytes;
}

bool WeightFinder::has_module(const std::string& module) const {
  return source_.find(module + ".weight") != nullptr;
}

Result<const StoredTensor*> WeightFinder::require(const std::string& name) {
  const StoredTensor* tensor = source_.find(name);
  if (tensor == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("tensor {} is missing", printable(name)), source_.path());
  used_.insert(name);
  return tensor;
}

Result<WeightMatrix> WeightFinder::matrix(const std::string& module, MatrixShape shape) {
  KVERN_TRY(const StoredTensor* tensor, require(module + ".weight"));
  if (!tensor->type) return affine(*tensor, module, shape);
  KVERN_TRY_STATUS(check_shape(*tensor, shape));
  if (source_.find(module + ".scales") != nullptr)
    return fail(ErrorCode::kCorrupt,
                fmt::format("has scales beside it, but holds {} and no codes", type_name(*tensor)),
                place(*tensor));
  return WeightMatrix{.type = *tensor->type,
                      .rows = shape.rows,
                      .cols = shape.cols,
                      .data = tensor->bytes.data(),
                      .row_stride_bytes = compute::row_bytes(*tensor->type, shape.cols),
                      .affine = {}};
}

Result<std::vector<WeightMatrix>> WeightFinder::stack(const std::string& module, int64_t count,
                                                      MatrixShape shape) {
  KVERN_TRY(const StoredTensor* tensor, require(module + ".weight"));
  const int64_t expected[] = {count, shape.rows, shape.cols};
  if (!tensor->type || !std::ranges::equal(tensor->shape, expected))
    return fail(ErrorCode::kCorrupt,
                fmt::format("expected shape {}, found {}", shape_text(expected), shape_text(tensor->shape)),
                place(*tensor));
  const size_t row = compute::row_bytes(*tensor->type, shape.cols);
  std::vector<WeightMatrix> matrices;
  matrices.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    matrices.push_back({.type = *tensor->type,
                        .rows = shape.rows,
                        .cols = shape.cols,
                        .data = tensor->bytes.data() + static_cast<size_t>(i * shape.rows) * row,
                        .row_stride_bytes = row,
                        .affine = {}});
  return matrices;
}

Result<const StoredTensor*> WeightFinder::affine_part(const std::string& name, MatrixShape shape) {
  KVERN_TRY(const StoredTensor* tensor, require(name));
  KVERN_TRY_STATUS(check_shape(*tensor, shape));
  if (!is_float(*tensor))
    return fail(ErrorCode::kCorrupt, fmt::format("expected f32, f16 or bf16, found {}", type_name(*tensor)),
                place(*tensor));
  return tensor;
}

Result<WeightMatrix> WeightFinder::affine(const StoredTensor& codes, const std::string& module,
                                          MatrixShape shape) {
  const auto format = config_.quantization ? config_.quantization->format_of(module) : std::nullopt;
  if (!format)
    return fail(ErrorCode::kCorrupt, "holds packed codes, but config.json declares no quantization for it",
                place(codes));
  const int64_t codes_per_word = 32 / format->bits;
  if (shape.cols % format->group_size != 0)
    return fail(ErrorCode::kCorrupt,
                fmt::format("{} columns are no multiple of the group of {}", shape.cols, format->group_size),
                place(codes));
  KVERN_TRY_STATUS(check_shape(codes, {shape.rows, shape.cols / codes_per_word}));
  const MatrixShape groups{shape.rows, shape.cols / format->group_size};
  KVERN_TRY(const StoredTensor* scales, affine_part(module + ".scales", groups));
  KVERN_TRY(const StoredTensor* biases, affine_part(module + ".biases", groups));
  if (scales->type != biases->type)
    return fail(
        ErrorCode::kCorrupt,
        fmt::format("has the type {}, but the scales have {}", type_name(*biases), type_name(*scales)),
        place(*biases));
  const DType type = format->bits == 4 ? DType::kAffine4 : DType::kAffine8;
  return WeightMatrix{.type = type,
                      .rows = shape.rows,
                      .cols = shape.cols,
                      .data = codes.bytes.data(),
                      .row_stride_bytes = compute::row_bytes(type, shape.cols),
                      .affine = {.scales = scales->bytes.data(),
                                 .biases = biases->bytes.data(),
                                 .type = *scales->type,
                                 .group_size = format->group_size}};
}

Result<std::vector<float>> WeightFinder::vector(const std::string& module, std::string_view part,
                                                int64_t count) {
  KVERN_TRY(const StoredTensor* tensor, require(fmt::format("{}.{}", module, part)));
  return f32_values(*tensor, count);
}

Status WeightFinder::check_all_used() const {
  for (const StoredTensor& tensor : source_.list())
    if (!used_.contains(tensor.name) && !is_redundant_tensor(tensor.name, config_))
      return fail(ErrorCode::kCorrupt,
                  fmt::format("shape {}: a {} model with this configuration has no use for it",
                              shape_text(tensor.shape), to_string(config_.family)),
                  place(tensor));
  return Ok{};
}

}  // namespace kvern::model
