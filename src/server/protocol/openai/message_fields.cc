#include "server/protocol/openai/message_fields.h"

#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace kvern::server::openai {
namespace {

std::unexpected<Error> missing(const std::string& path, std::string_view expected) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: expected {}, but it is missing", path, expected),
              path);
}

Result<std::string> read_part(const json::value& value, const std::string& path) {
  KVERN_TRY(ObjectReader part, ObjectReader::of(value, path));
  KVERN_TRY(const std::string type, part.required_string("type"));
  if (type != "text") {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: only parts of the type \"text\" are supported, got {}", part.path_of("type"),
                            describe(json::value(type))),
                part.path_of("type"));
  }
  KVERN_TRY(std::string text, part.required_string("text"));
  KVERN_TRY_STATUS(part.finish());
  return text;
}

/// A string, or parts that are joined. None when it is absent.
Result<std::optional<std::string>> read_content(ObjectReader& message) {
  const json::value* value = message.take("content");
  if (value == nullptr) return std::nullopt;
  const std::string path = message.path_of("content");
  if (const json::array* parts = value->if_array()) {
    std::string joined;
    for (size_t i = 0; i < parts->size(); ++i) {
      KVERN_TRY(const std::string text, read_part((*parts)[i], fmt::format("{}[{}]", path, i)));
      joined += text;
    }
    return joined;
  }
  if (!value->is_string()) return wrong_type(path, "a string or an array of parts", *value);
  return std::string(value->get_string());
}

Result<engine::ChatToolCall> read_tool_call(const json::value& value, const std::string& path) {
  KVERN_TRY(ObjectReader call, ObjectReader::of(value, path));
  engine::ChatToolCall result;
  KVERN_TRY(result.id, call.required_string("id"));
  KVERN_TRY_STATUS(call.word("type", {"function"}));
  // What clients send back that kept the chunks of a stream.
  KVERN_TRY_STATUS(call.integer("index"));
  KVERN_TRY(const json::object* function, call.object("function"));
  if (function == nullptr) return missing(call.path_of("function"), "an object");
  ObjectReader reader(*function, call.path_of("function"));
  KVERN_TRY(result.name, reader.required_string("name"));
  KVERN_TRY(result.arguments, reader.required_string("arguments"));
  KVERN_TRY_STATUS(reader.finish());
  KVERN_TRY_STATUS(call.finish());
  return result;
}

Status read_assistant(ObjectReader& message, engine::ChatMessage& result) {
  KVERN_TRY(const json::array* calls, message.array("tool_calls"));
  for (size_t i = 0; calls != nullptr && i < calls->size(); ++i) {
    KVERN_TRY(engine::ChatToolCall call,
              read_tool_call((*calls)[i], fmt::format("{}[{}]", message.path_of("tool_calls"), i)));
    result.tool_calls.push_back(std::move(call));
  }
  KVERN_TRY(result.reasoning, message.string("reasoning_content"));
  KVERN_TRY_STATUS(message.refuse("function_call", "it is deprecated; use tool_calls"));
  KVERN_TRY_STATUS(message.refuse("refusal", "models here do not refuse in a field of its own"));
  KVERN_TRY_STATUS(message.refuse("audio", "there is text only"));
  KVERN_TRY_STATUS(message.refuse("annotations", "there are none", {"[]"}));
  if (!result.content && result.tool_calls.empty())
    return missing(message.path_of("content"), "a string or an array of parts (or tool_calls)");
  return Ok{};
}

Result<engine::ChatMessage> read_message(const json::value& value, const std::string& path) {
  KVERN_TRY(ObjectReader message, ObjectReader::of(value, path));
  engine::ChatMessage result;
  KVERN_TRY(const auto role, message.word("role", {"system", "developer", "user", "assistant", "tool"}));
  if (!role) return missing(message.path_of("role"), "a string");
  result.role = *role;
  KVERN_TRY(result.content, read_content(message));
  KVERN_TRY(result.name, message.string("name"));
  if (result.role == "assistant") {
    KVERN_TRY_STATUS(read_assistant(message, result));
  } else if (!result.content) {
    return missing(message.path_of("content"), "a string or an array of parts");
  }
  if (result.role == "tool") {
    KVERN_TRY(result.tool_call_id, message.required_string("tool_call_id"));
  }
  KVERN_TRY_STATUS(message.finish());
  return result;
}

}  // namespace

Result<std::vector<engine::ChatMessage>> read_messages(ObjectReader& body) {
  KVERN_TRY(const json::array* array, body.array("messages"));
  const std::string path = body.path_of("messages");
  if (array == nullptr) return missing(path, "an array of messages");
  if (array->empty()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: expected at least one message, got none", path),
                path);
  }
  std::vector<engine::ChatMessage> messages;
  messages.reserve(array->size());
  std::unordered_map<std::string, std::string> function_of_call;
  for (size_t i = 0; i < array->size(); ++i) {
    KVERN_TRY(engine::ChatMessage message, read_message((*array)[i], fmt::format("{}[{}]", path, i)));
    for (const engine::ChatToolCall& call : message.tool_calls) function_of_call[call.id] = call.name;
    // Some templates write the name of the function whose result follows.
    if (message.role == "tool" && !message.name) {
      const auto function = function_of_call.find(*message.tool_call_id);
      if (function != function_of_call.end()) message.name = function->second;
    }
    messages.push_back(std::move(message));
  }
  return messages;
}

}  // namespace kvern::server::openai
