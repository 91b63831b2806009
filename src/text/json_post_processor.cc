// read_post_processor.
#include <fmt/format.h>

#include "text/json_components.h"

namespace kvern::text {
namespace {

/// The ids that a template's special token stands for.
Status append_template_token(const JsonField& field, const JsonField& tokens, std::vector<TokenId>& out) {
  KVERN_TRY(const std::string_view name, field.member("id").as_string());
  const JsonField ids = tokens.member(name).member("ids");
  KVERN_TRY(const json::array* array, ids.as_array());
  for (size_t i = 0; i < array->size(); ++i) {
    KVERN_TRY(const int64_t id, ids.element(i).as_integer());
    if (id < 0 || id >= kMaxTokenId) return ids.element(i).corrupt(fmt::format("{} is no token id", id));
    out.push_back(static_cast<TokenId>(id));
  }
  return Ok{};
}

Status read_template(const JsonField& field, Surroundings& result) {
  const JsonField single = field.member("single");
  const JsonField tokens = field.member("special_tokens");
  KVERN_TRY(const json::array* array, single.as_array());
  bool past_text = false;
  for (size_t i = 0; i < array->size(); ++i) {
    const JsonField part = single.element(i);
    if (const JsonField token = part.member("SpecialToken"); token.present()) {
      KVERN_TRY_STATUS(append_template_token(token, tokens, past_text ? result.after : result.before));
      continue;
    }
    KVERN_TRY(const std::string_view sequence, part.member("Sequence").member("id").as_string());
    if (sequence != "A" || past_text)
      return part.unsupported("a template for one text must name sequence \"A\" once");
    past_text = true;
  }
  if (!past_text) return single.unsupported("a template for one text must name sequence \"A\" once");
  return Ok{};
}

/// ["</s>", 2]
Result<TokenId> read_named_id(const JsonField& field) {
  KVERN_TRY(const int64_t id, field.element(1).as_integer());
  if (id < 0 || id >= kMaxTokenId) return field.corrupt(fmt::format("{} is no token id", id));
  return static_cast<TokenId>(id);
}

Status read_one(const JsonField& field, Surroundings& result) {
  KVERN_TRY(const std::string_view type, field.member("type").as_string());
  if (type == "ByteLevel") return Ok{};  // Changes offsets only.
  if (type == "TemplateProcessing") return read_template(field, result);
  if (type == "RobertaProcessing" || type == "BertProcessing") {
    KVERN_TRY(const TokenId before, read_named_id(field.member("cls")));
    KVERN_TRY(const TokenId after, read_named_id(field.member("sep")));
    result.before.push_back(before);
    result.after.push_back(after);
    return Ok{};
  }
  return field.unsupported(fmt::format("post-processor \"{}\" is not supported", type));
}

}  // namespace

Status read_post_processor(const JsonField& field, const Vocabulary& vocabulary, Surroundings& surroundings) {
  if (!field.present()) return Ok{};
  KVERN_TRY(const std::string_view type, field.member("type").as_string());
  if (type == "Sequence") {
    const JsonField parts = field.member("processors");
    KVERN_TRY(const json::array* array, parts.as_array());
    for (size_t i = 0; i < array->size(); ++i)
      KVERN_TRY_STATUS(read_post_processor(parts.element(i), vocabulary, surroundings));
    return Ok{};
  }
  Surroundings own;
  KVERN_TRY_STATUS(read_one(field, own));
  for (const auto* ids : {&own.before, &own.after})
    for (const TokenId id : *ids)
      if (!vocabulary.has(id)) return field.corrupt(fmt::format("token {} does not exist", id));
  // A later processor surrounds what the one before it made.
  surroundings.before.insert(surroundings.before.begin(), own.before.begin(), own.before.end());
  surroundings.after.insert(surroundings.after.end(), own.after.begin(), own.after.end());
  return Ok{};
}

}  // namespace kvern::text
