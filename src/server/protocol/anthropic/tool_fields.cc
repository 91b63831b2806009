#include "server/protocol/anthropic/tool_fields.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "server/protocol/anthropic/content_fields.h"

namespace kvern::server::anthropic {
namespace {

constexpr size_t kMaxNameBytes = 128;

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, message), path);
}

Result<engine::ToolFunction> read_tool(const json::value& value, const std::string& path) {
  KVERN_TRY(ObjectReader tool, ObjectReader::of(value, path));
  KVERN_TRY(const auto type, tool.string("type"));
  if (type && *type != "custom") {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: only tools that clients run, of the type \"custom\", are supported, got {}",
                            tool.path_of("type"), describe(json::value(*type))),
                tool.path_of("type"));
  }
  engine::ToolFunction function;
  KVERN_TRY(function.name, read_tool_name(tool, kMaxNameBytes));
  KVERN_TRY(const auto description, tool.string("description"));
  function.description = description.value_or("");
  KVERN_TRY(const json::object* schema, tool.object("input_schema"));
  if (schema == nullptr)
    return invalid(tool.path_of("input_schema"), "expected an object, but it is missing");
  function.parameters = *schema;
  KVERN_TRY(const auto strict, tool.boolean("strict"));
  function.strict = strict.value_or(false);
  // Arguments are streamed as they come, whatever this says.
  KVERN_TRY_STATUS(tool.boolean("eager_input_streaming"));
  KVERN_TRY_STATUS(read_cache_control(tool));
  KVERN_TRY_STATUS(tool.refuse("input_examples", "chat templates have no place for them", {"[]"}));
  KVERN_TRY_STATUS(tool.refuse("defer_loading", "all tools are offered at once", {"false"}));
  KVERN_TRY_STATUS(tool.refuse("allowed_callers", "calls are made by the model alone", {R"(["direct"])"}));
  KVERN_TRY_STATUS(tool.finish());
  return function;
}

Status read_choice(ObjectReader& body, ToolRequest& request) {
  request.choice = request.functions.empty() ? ToolChoice::kNone : ToolChoice::kAuto;
  KVERN_TRY(const json::object* value, body.object("tool_choice"));
  if (value == nullptr) return Ok{};
  ObjectReader choice(*value, "tool_choice");
  KVERN_TRY(const auto type, choice.word("type", {"auto", "any", "tool", "none"}));
  if (!type) return invalid("tool_choice.type", "expected a string, but it is missing");
  if (*type != "none") {
    KVERN_TRY(const auto single, choice.boolean("disable_parallel_tool_use"));
    request.parallel = !single.value_or(false);
  }
  if (*type == "tool") {
    KVERN_TRY(request.named, choice.required_string("name"));
  }
  KVERN_TRY_STATUS(choice.finish());
  if (*type == "none") request.choice = ToolChoice::kNone;
  if (*type == "tool") return require_tool(request, "tool_choice.name");
  if (*type != "any") return Ok{};
  if (request.functions.empty()) return invalid("tool_choice", "there are no tools to call");
  request.choice = ToolChoice::kRequired;
  return Ok{};
}

}  // namespace

Result<ToolRequest> read_tools(ObjectReader& body, size_t max_tools) {
  ToolRequest request;
  KVERN_TRY(request.functions, read_tool_list(body, max_tools, {.read = read_tool, .name = ".name"}));
  KVERN_TRY_STATUS(read_choice(body, request));
  return request;
}

}  // namespace kvern::server::anthropic
