#include "model/tensor_source.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/printable.h"

namespace kvern::model {

std::string shape_text(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

std::string_view type_name(const StoredTensor& tensor) {
  return tensor.type ? compute::traits(*tensor.type).name : std::string_view("u32");
}

Result<TensorDirectory> TensorDirectory::create(std::vector<StoredTensor> tensors, const std::string& where) {
  std::ranges::sort(tensors, {}, &StoredTensor::name);
  const auto twice = std::ranges::adjacent_find(tensors, {}, &StoredTensor::name);
  if (twice != tensors.end())
    return fail(ErrorCode::kCorrupt, fmt::format("two tensors have the name {}", printable(twice->name)),
                where);
  TensorDirectory directory;
  directory.tensors_ = std::move(tensors);
  return directory;
}

const StoredTensor* TensorDirectory::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(tensors_, name, {}, &StoredTensor::name);
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace kvern::model
