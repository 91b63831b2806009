#include "server/protocol/openai/tool_fields.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace kvern::server::openai {
namespace {

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, message), path);
}

Result<engine::ToolFunction> read_function(const json::object& object, const std::string& path) {
  ObjectReader reader(object, path);
  engine::ToolFunction function;
  KVERN_TRY(function.name, read_tool_name(reader, kMaxToolNameBytes));
  KVERN_TRY(const auto description, reader.string("description"));
  function.description = description.value_or("");
  KVERN_TRY(const json::object* parameters, reader.object("parameters"));
  // Without parameters a function takes none.
  function.parameters = parameters != nullptr ? *parameters : no_parameters();
  KVERN_TRY(const auto strict, reader.boolean("strict"));
  function.strict = strict.value_or(false);
  KVERN_TRY_STATUS(reader.finish());
  return function;
}

Result<engine::ToolFunction> read_tool(const json::value& value, const std::string& path) {
  KVERN_TRY(ObjectReader tool, ObjectReader::of(value, path));
  KVERN_TRY(const std::string type, tool.required_string("type"));
  if (type != "function") {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: only tools of the type \"function\" are supported, got {}",
                            tool.path_of("type"), describe(json::value(type))),
                tool.path_of("type"));
  }
  KVERN_TRY(const json::object* function, tool.object("function"));
  if (function == nullptr) return invalid(tool.path_of("function"), "expected an object, but it is missing");
  KVERN_TRY_STATUS(tool.finish());
  return read_function(*function, tool.path_of("function"));
}

Status read_named_choice(const json::value& value, ToolRequest& request) {
  KVERN_TRY(ObjectReader choice, ObjectReader::of(value, "tool_choice"));
  KVERN_TRY(const std::string type, choice.required_string("type"));
  if (type != "function") {
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("tool_choice.type: only \"function\" is supported, got {}", describe(json::value(type))),
        "tool_choice.type");
  }
  KVERN_TRY(const json::object* function, choice.object("function"));
  if (function == nullptr) return invalid("tool_choice.function", "expected an object, but it is missing");
  KVERN_TRY_STATUS(choice.finish());
  ObjectReader reader(*function, "tool_choice.function");
  KVERN_TRY(request.named, reader.required_string("name"));
  KVERN_TRY_STATUS(reader.finish());
  return require_tool(request, "tool_choice.function.name");
}

Status read_choice(ObjectReader& body, ToolRequest& request) {
  const json::value* value = body.take("tool_choice");
  request.choice = request.functions.empty() ? ToolChoice::kNone : ToolChoice::kAuto;
  if (value == nullptr) return Ok{};
  if (const json::string* word = value->if_string()) {
    if (*word == "none") {
      request.choice = ToolChoice::kNone;
      return Ok{};
    }
    if (*word == "auto") return Ok{};
    if (*word == "required") {
      if (request.functions.empty()) return invalid("tool_choice", "there are no tools to call");
      request.choice = ToolChoice::kRequired;
      return Ok{};
    }
  }
  if (!value->is_object())
    return wrong_type("tool_choice", "\"none\" or \"auto\" or \"required\" or an object", *value);
  return read_named_choice(*value, request);
}

}  // namespace

Result<ToolRequest> read_tools(ObjectReader& body, size_t max_tools) {
  KVERN_TRY_STATUS(body.refuse("functions", "it is deprecated; use tools"));
  KVERN_TRY_STATUS(body.refuse("function_call", "it is deprecated; use tool_choice"));
  ToolRequest request;
  KVERN_TRY(request.functions,
            read_tool_list(body, max_tools, {.read = read_tool, .name = ".function.name"}));
  KVERN_TRY_STATUS(read_choice(body, request));
  KVERN_TRY(const auto parallel, body.boolean("parallel_tool_calls"));
  request.parallel = parallel.value_or(true);
  return request;
}

}  // namespace kvern::server::openai
