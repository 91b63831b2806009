#include "model/config/end_tokens.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace kvern::model {
namespace {

constexpr std::string_view kIdKeys[] = {
    "tokenizer.ggml.eos_token_id",
    "tokenizer.ggml.eot_token_id",
    "tokenizer.ggml.eom_token_id",
};

// End markers of the families that kvern runs, as their tokenizers write them.
constexpr std::string_view kMarkers[] = {
    "</s>",          "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>",
    "<|endoftext|>", "<|im_end|>",      "<|end|>",    "<end_of_turn>",
};

// tokenizer.ggml.token_type of control tokens.
constexpr int32_t kControl = 3;

void add(std::vector<int32_t>& ids, int32_t id) {
  const auto at = std::ranges::lower_bound(ids, id);
  if (at == ids.end() || *at != id) ids.insert(at, id);
}

}  // namespace

Result<std::vector<int32_t>> end_tokens_from_gguf(const GgufMetadata& metadata) {
  std::vector<int32_t> ids;
  for (const std::string_view key : kIdKeys) {
    KVERN_TRY(const auto id, metadata.get_optional<int32_t>(key));
    if (id) add(ids, *id);
  }
  if (metadata.find("tokenizer.ggml.tokens") == nullptr ||
      metadata.find("tokenizer.ggml.token_type") == nullptr)
    return ids;
  KVERN_TRY(const GgufStrings tokens, metadata.strings("tokenizer.ggml.tokens"));
  KVERN_TRY(const auto types, metadata.numbers<int32_t>("tokenizer.ggml.token_type"));
  size_t id = 0;
  for (const std::string_view token : tokens) {
    if (id >= types.size()) break;
    if (types[id] == kControl && std::ranges::find(kMarkers, token) != std::end(kMarkers))
      add(ids, static_cast<int32_t>(id));
    ++id;
  }
  return ids;
}

Status add_end_tokens(const JsonFields& fields, std::vector<int32_t>& ids) {
  constexpr std::string_view kKey = "eos_token_id";
  const json::value* value = fields.find(kKey);
  if (value == nullptr) return Ok{};
  const auto add_one = [&](const json::value& element) -> Status {
    if (!element.is_int64() || element.get_int64() < 0 ||
        element.get_int64() > std::numeric_limits<int32_t>::max())
      return fields.error(ErrorCode::kCorrupt, kKey,
                          "must be a token id or a list of them, but is " + json_excerpt(*value));
    add(ids, static_cast<int32_t>(element.get_int64()));
    return Ok{};
  };
  if (!value->is_array()) return add_one(*value);
  for (const json::value& element : value->get_array()) KVERN_TRY_STATUS(add_one(element));
  return Ok{};
}

}  // namespace kvern::model
