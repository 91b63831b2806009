#include "server/protocol/tool_request.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace kvern::server {
namespace {

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, message), path);
}

bool is_name(std::string_view text, size_t max_bytes) {
  return !text.empty() && text.size() <= max_bytes && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

bool has_function(const std::vector<engine::ToolFunction>& functions, const std::string& name) {
  return std::ranges::find(functions, name, &engine::ToolFunction::name) != functions.end();
}

/// `strict` is for the server, not for the model.
json::object template_tool(const engine::ToolFunction& function) {
  json::object inner{{"name", function.name}};
  if (!function.description.empty()) inner["description"] = function.description;
  inner["parameters"] = function.parameters;
  return {{"type", "function"}, {"function", std::move(inner)}};
}

}  // namespace

json::array template_tools(const ToolRequest& request) {
  json::array tools;
  if (request.choice == ToolChoice::kNone) return tools;
  for (const engine::ToolFunction& function : request.functions) tools.push_back(template_tool(function));
  return tools;
}

std::vector<engine::ToolFunction> callable_tools(const ToolRequest& request) {
  if (request.named.empty()) return request.functions;
  std::vector<engine::ToolFunction> one;
  std::ranges::copy_if(request.functions, std::back_inserter(one),
                       [&](const engine::ToolFunction& function) { return function.name == request.named; });
  return one;
}

Result<std::string> read_tool_name(ObjectReader& tool, size_t max_bytes) {
  KVERN_TRY(std::string name, tool.required_string("name"));
  if (is_name(name, max_bytes)) return name;
  return invalid(tool.path_of("name"), fmt::format("expected 1 to {} of a-z, A-Z, 0-9, _ and -, got {}",
                                                   max_bytes, describe(json::value(name))));
}

json::object no_parameters() { return {{"type", "object"}, {"properties", json::object{}}}; }

Result<std::vector<engine::ToolFunction>> read_tool_list(ObjectReader& body, size_t max_tools,
                                                         const ToolReader& reader) {
  std::vector<engine::ToolFunction> functions;
  KVERN_TRY(const json::array* tools, body.array("tools"));
  if (tools == nullptr) return functions;
  if (tools->size() > max_tools)
    return invalid("tools", fmt::format("{} tools; at most {} are taken", tools->size(), max_tools));
  for (size_t i = 0; i < tools->size(); ++i) {
    const std::string path = fmt::format("tools[{}]", i);
    KVERN_TRY(engine::ToolFunction function, reader.read((*tools)[i], path));
    if (has_function(functions, function.name))
      return invalid(path + std::string(reader.name), "a function of this name was given before");
    functions.push_back(std::move(function));
  }
  return functions;
}

Status require_tool(ToolRequest& request, const std::string& path) {
  if (!has_function(request.functions, request.named))
    return invalid(path, "it is none of the functions in tools");
  request.choice = ToolChoice::kRequired;
  return Ok{};
}

}  // namespace kvern::server
