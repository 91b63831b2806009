#include "server/protocol/responses/tool_fields.h"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace kvern::server::responses {
namespace {

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, message), path);
}

Status check_type(ObjectReader& object, std::string_view of_what) {
  KVERN_TRY(const std::string type, object.required_string("type"));
  if (type == "function") return Ok{};
  const std::string path = object.path_of("type");
  return fail(ErrorCode::kUnsupported,
              fmt::format("{}: only {} of the type \"function\" are supported, got {}", path, of_what,
                          describe(json::value(type))),
              path);
}

Result<engine::ToolFunction> read_tool(const json::value& value, const std::string& path) {
  KVERN_TRY(ObjectReader tool, ObjectReader::of(value, path));
  KVERN_TRY_STATUS(check_type(tool, "tools"));
  engine::ToolFunction function;
  KVERN_TRY(function.name, read_tool_name(tool, kMaxToolNameBytes));
  KVERN_TRY(const auto description, tool.string("description"));
  function.description = description.value_or("");
  KVERN_TRY(const json::object* parameters, tool.object("parameters"));
  function.parameters = parameters != nullptr ? *parameters : no_parameters();
  KVERN_TRY(const auto strict, tool.boolean("strict"));
  function.strict = strict.value_or(false);
  KVERN_TRY_STATUS(tool.refuse("allowed_callers", "calls are made by the model alone", {R"(["direct"])"}));
  KVERN_TRY_STATUS(tool.refuse("defer_loading", "all tools are offered at once", {"false"}));
  KVERN_TRY_STATUS(tool.refuse("output_schema", "chat templates have no place for it"));
  KVERN_TRY_STATUS(tool.finish());
  return function;
}

Status read_word(const json::string& word, const json::value& value, ToolRequest& request) {
  if (word == "auto") return Ok{};
  if (word == "none") {
    request.choice = ToolChoice::kNone;
    return Ok{};
  }
  if (word != "required")
    return wrong_type("tool_choice", "\"none\" or \"auto\" or \"required\" or an object", value);
  if (request.functions.empty()) return invalid("tool_choice", "there are no tools to call");
  request.choice = ToolChoice::kRequired;
  return Ok{};
}

Status read_choice(ObjectReader& body, ToolRequest& request) {
  request.choice = request.functions.empty() ? ToolChoice::kNone : ToolChoice::kAuto;
  const json::value* value = body.take("tool_choice");
  if (value == nullptr) return Ok{};
  if (const json::string* word = value->if_string()) return read_word(*word, *value, request);
  if (!value->is_object())
    return wrong_type("tool_choice", "\"none\" or \"auto\" or \"required\" or an object", *value);
  ObjectReader choice(value->get_object(), "tool_choice");
  KVERN_TRY_STATUS(check_type(choice, "choices"));
  KVERN_TRY(request.named, choice.required_string("name"));
  KVERN_TRY_STATUS(choice.finish());
  return require_tool(request, "tool_choice.name");
}

json::value choice_json(const ToolRequest& tools) {
  if (!tools.named.empty()) return json::object{{"type", "function"}, {"name", tools.named}};
  if (tools.choice == ToolChoice::kRequired) return "required";
  // Without tools there is nothing to choose, which is no refusal to choose.
  return tools.choice == ToolChoice::kNone && !tools.functions.empty() ? "none" : "auto";
}

}  // namespace

Result<ToolRequest> read_tools(ObjectReader& body, size_t max_tools) {
  ToolRequest request;
  KVERN_TRY(request.functions, read_tool_list(body, max_tools, {.read = read_tool, .name = ".name"}));
  KVERN_TRY_STATUS(read_choice(body, request));
  KVERN_TRY(const auto parallel, body.boolean("parallel_tool_calls"));
  request.parallel = parallel.value_or(true);
  return request;
}

void tell_tools(const ToolRequest& tools, json::object& response) {
  json::array list;
  for (const engine::ToolFunction& function : tools.functions) {
    list.push_back(json::object{{"type", "function"},
                                {"name", function.name},
                                {"description", function.description},
                                {"parameters", function.parameters},
                                {"strict", function.strict}});
  }
  response["tools"] = std::move(list);
  response["tool_choice"] = choice_json(tools);
  response["parallel_tool_calls"] = tools.parallel;
}

}  // namespace kvern::server::responses
