#include "server/protocol/anthropic/content_fields.h"

#include <utility>

#include <fmt/format.h>

namespace kvern::server::anthropic {
namespace {

using Kind = ContentBlock::Kind;

std::unexpected<Error> missing(const std::string& path, std::string_view expected) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: expected {}, but it is missing", path, expected),
              path);
}

std::unexpected<Error> unsupported_block(const ObjectReader& block, const std::string& type,
                                         std::string_view supported) {
  const std::string path = block.path_of("type");
  return fail(ErrorCode::kUnsupported,
              fmt::format("{}: {} are supported here, not {}", path, supported, describe(json::value(type))),
              path);
}

Result<std::string> read_text(ObjectReader& block) {
  KVERN_TRY(std::string text, block.required_string("text"));
  KVERN_TRY_STATUS(block.refuse("citations", "models here cite nothing", {"[]"}));
  KVERN_TRY_STATUS(read_cache_control(block));
  KVERN_TRY_STATUS(block.finish());
  return text;
}

/// Texts of blocks that may only be text.
Result<std::string> read_texts(const json::value& value, const std::string& path) {
  if (const json::string* text = value.if_string()) return std::string(*text);
  const json::array* array = value.if_array();
  if (array == nullptr) return wrong_type(path, "a string or an array of blocks", value);
  std::string joined;
  for (size_t i = 0; i < array->size(); ++i) {
    KVERN_TRY(ObjectReader block, ObjectReader::of((*array)[i], fmt::format("{}[{}]", path, i)));
    KVERN_TRY(const std::string type, block.required_string("type"));
    if (type != "text") return unsupported_block(block, type, "blocks of the type \"text\"");
    KVERN_TRY(const std::string text, read_text(block));
    joined += text;
  }
  return joined;
}

/// Tools of clients are called directly; that is also what answers say.
Status read_caller(ObjectReader& block) {
  KVERN_TRY_STATUS(block.refuse("caller", "calls are made by the model alone", {R"({"type":"direct"})"}));
  return block.refuse("toolset_name", "there are no toolsets");
}

Result<ContentBlock> read_tool_use(ObjectReader& block) {
  ContentBlock result{.kind = Kind::kToolUse};
  KVERN_TRY(result.call.id, block.required_string("id"));
  KVERN_TRY(result.call.name, block.required_string("name"));
  KVERN_TRY(const json::object* input, block.object("input"));
  if (input == nullptr) return missing(block.path_of("input"), "an object");
  result.call.arguments = to_json(*input);
  KVERN_TRY_STATUS(read_caller(block));
  KVERN_TRY_STATUS(read_cache_control(block));
  KVERN_TRY_STATUS(block.finish());
  return result;
}

Result<ContentBlock> read_tool_result(ObjectReader& block) {
  ContentBlock result{.kind = Kind::kToolResult};
  KVERN_TRY(result.tool_use_id, block.required_string("tool_use_id"));
  if (const json::value* content = block.take("content")) {
    KVERN_TRY(result.text, read_texts(*content, block.path_of("content")));
  }
  KVERN_TRY(const auto is_error, block.boolean("is_error"));
  if (is_error.value_or(false)) result.text.insert(0, "Error: ");
  KVERN_TRY_STATUS(block.refuse("toolset_name", "there are no toolsets"));
  KVERN_TRY_STATUS(read_cache_control(block));
  KVERN_TRY_STATUS(block.finish());
  return result;
}

Result<ContentBlock> read_thinking(ObjectReader& block) {
  ContentBlock result{.kind = Kind::kThinking};
  KVERN_TRY(result.text, block.required_string("thinking"));
  // Whatever it says: thoughts are not sealed here.
  KVERN_TRY_STATUS(block.string("signature"));
  KVERN_TRY_STATUS(block.finish());
  return result;
}

Result<ContentBlock> read_block(const json::value& value, const std::string& path, Author author) {
  KVERN_TRY(ObjectReader block, ObjectReader::of(value, path));
  KVERN_TRY(const std::string type, block.required_string("type"));
  if (type == "text") {
    ContentBlock result;
    KVERN_TRY(result.text, read_text(block));
    return result;
  }
  if (author == Author::kUser && type == "tool_result") return read_tool_result(block);
  if (author == Author::kAssistant && type == "tool_use") return read_tool_use(block);
  if (author == Author::kAssistant && type == "thinking") return read_thinking(block);
  switch (author) {
    case Author::kUser:
      return unsupported_block(block, type, "blocks of the types \"text\" and \"tool_result\"");
    case Author::kAssistant:
      return unsupported_block(block, type, "blocks of the types \"text\", \"tool_use\" and \"thinking\"");
    case Author::kSystem:
      break;
  }
  return unsupported_block(block, type, "blocks of the type \"text\"");
}

}  // namespace

Result<std::vector<ContentBlock>> read_content(ObjectReader& object, std::string_view name, Author author) {
  const json::value* value = object.take(name);
  const std::string path = object.path_of(name);
  if (value == nullptr) return missing(path, "a string or an array of blocks");
  std::vector<ContentBlock> blocks;
  if (const json::string* text = value->if_string()) {
    blocks.push_back({.kind = Kind::kText, .text = std::string(*text)});
    return blocks;
  }
  const json::array* array = value->if_array();
  if (array == nullptr) return wrong_type(path, "a string or an array of blocks", *value);
  for (size_t i = 0; i < array->size(); ++i) {
    KVERN_TRY(ContentBlock block, read_block((*array)[i], fmt::format("{}[{}]", path, i), author));
    blocks.push_back(std::move(block));
  }
  return blocks;
}

Status read_cache_control(ObjectReader& object) {
  KVERN_TRY(const json::object* value, object.object("cache_control"));
  if (value == nullptr) return Ok{};
  ObjectReader control(*value, object.path_of("cache_control"));
  KVERN_TRY(const auto type, control.word("type", {"ephemeral"}));
  if (!type) return missing(control.path_of("type"), "\"ephemeral\"");
  KVERN_TRY_STATUS(control.word("ttl", {"5m", "1h"}));
  return control.finish();
}

}  // namespace kvern::server::anthropic
