#include "model/config/gguf_fields.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "model/printable.h"

namespace kvern::model {

Result<int64_t> GgufFields::integer(std::string_view field, std::string_view suffix,
                                    std::optional<int64_t> otherwise) {
  if (find(suffix) == nullptr && otherwise) {
    origin(field, "default");
    return *otherwise;
  }
  origin(field, key(suffix));
  return metadata().get<int64_t>(key(suffix));
}

Result<double> GgufFields::number(std::string_view field, std::string_view suffix,
                                  std::optional<double> otherwise) {
  if (find(suffix) == nullptr && otherwise) {
    origin(field, "default");
    return *otherwise;
  }
  origin(field, key(suffix));
  return metadata().get<double>(key(suffix));
}

Status GgufFields::one_for_each_layer(std::string_view suffix, size_t count) const {
  if (std::cmp_equal(count, config_.layers)) return Ok{};
  return error(ErrorCode::kCorrupt, fmt::format("metadata key {} has {} values for {} layers",
                                                printable(key(suffix)), count, config_.layers));
}

Result<int64_t> GgufFields::uniform(std::string_view field, std::string_view suffix,
                                    std::optional<int64_t> otherwise) {
  const GgufValue* value = find(suffix);
  if (value == nullptr || value->type != GgufValueType::kArray) return integer(field, suffix, otherwise);
  KVERN_TRY(const auto values, metadata().numbers<int64_t>(key(suffix)));
  KVERN_TRY_STATUS(one_for_each_layer(suffix, values.size()));
  if (std::ranges::adjacent_find(values, std::not_equal_to<>()) != values.end())
    return error(ErrorCode::kUnsupported,
                 fmt::format("metadata key {} differs between layers; kvern runs models whose "
                             "layers are alike",
                             printable(key(suffix))));
  origin(field, key(suffix));
  return values.front();
}

Result<int64_t> GgufFields::rows(std::string_view field, std::string_view tensor) {
  const StoredTensor* stored = file_.find(tensor);
  if (stored == nullptr || stored->shape.size() != 2)
    return error(ErrorCode::kCorrupt, fmt::format("the matrix {} is missing", printable(tensor)));
  origin(field, std::string(tensor));
  return stored->shape[0];
}

}  // namespace kvern::model
