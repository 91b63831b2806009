#include "server/protocol/responses/input_items.h"

#include <utility>

#include <fmt/format.h>

namespace kvern::server::responses {
namespace {

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, message), path);
}

std::unexpected<Error> unsupported_type(const ObjectReader& object, const std::string& type,
                                        std::string_view supported) {
  const std::string path = object.path_of("type");
  return fail(ErrorCode::kUnsupported,
              fmt::format("{}: {} are supported here, not {}", path, supported, describe(json::value(type))),
              path);
}

/// A part of a content; `type` is the only one that fits there.
Result<std::string> read_part(const json::value& value, const std::string& path, std::string_view type) {
  KVERN_TRY(ObjectReader part, ObjectReader::of(value, path));
  KVERN_TRY(const std::string got, part.required_string("type"));
  if (got != type) return unsupported_type(part, got, fmt::format("parts of the type \"{}\"", type));
  KVERN_TRY(std::string text, part.required_string("text"));
  KVERN_TRY_STATUS(part.refuse("prompt_cache_breakpoint", "prefixes are kept by themselves"));
  if (type == "output_text") {
    // What answers say and clients send back.
    KVERN_TRY_STATUS(part.refuse("annotations", "there are none", {"[]"}));
    KVERN_TRY_STATUS(part.array("logprobs"));
  }
  KVERN_TRY_STATUS(part.finish());
  return text;
}

/// A string, or parts that are joined.
Result<std::string> read_texts(ObjectReader& object, std::string_view name, std::string_view type) {
  const json::value* value = object.take(name);
  const std::string path = object.path_of(name);
  if (value == nullptr) return invalid(path, "expected a string or an array of parts, but it is missing");
  if (const json::string* text = value->if_string()) return std::string(*text);
  const json::array* parts = value->if_array();
  if (parts == nullptr) return wrong_type(path, "a string or an array of parts", *value);
  std::string joined;
  for (size_t i = 0; i < parts->size(); ++i) {
    KVERN_TRY(const std::string text, read_part((*parts)[i], fmt::format("{}[{}]", path, i), type));
    joined += text;
  }
  return joined;
}

Status read_status(ObjectReader& item) {
  KVERN_TRY_STATUS(item.word("status", {"in_progress", "completed", "incomplete"}));
  return Ok{};
}

json::object message_item(std::string id, std::string_view role, std::string_view text) {
  json::object part{{"type", role == "assistant" ? "output_text" : "input_text"}, {"text", text}};
  if (role == "assistant") part["annotations"] = json::array{};
  return {{"id", std::move(id)},
          {"type", "message"},
          {"status", "completed"},
          {"role", role},
          {"content", json::array{std::move(part)}}};
}

}  // namespace

Result<std::string> ItemReader::read_id(ObjectReader& item, std::string_view prefix) {
  KVERN_TRY(auto id, item.string("id"));
  return id ? *std::move(id) : ids_.next(prefix);
}

engine::ChatMessage& ItemReader::assistant() {
  if (messages_.empty() || messages_.back().role != "assistant") messages_.push_back({.role = "assistant"});
  return messages_.back();
}

json::object ItemReader::add_text(std::string_view role, std::string_view text) {
  messages_.push_back({.role = std::string(role), .content = std::string(text)});
  return message_item(ids_.next("msg_"), role, text);
}

Result<json::object> ItemReader::add_message(ObjectReader& item) {
  KVERN_TRY(const auto role, item.word("role", {"user", "assistant", "system", "developer"}));
  if (!role) return invalid(item.path_of("role"), "expected a string, but it is missing");
  const bool own = *role == "assistant";
  KVERN_TRY(std::string text, read_texts(item, "content", own ? "output_text" : "input_text"));
  KVERN_TRY(std::string id, read_id(item, "msg_"));
  KVERN_TRY_STATUS(read_status(item));
  KVERN_TRY_STATUS(item.refuse("phase", "messages have none"));
  KVERN_TRY_STATUS(item.finish());
  json::object kept = message_item(std::move(id), *role, text);
  // What was said behind calls is another message.
  if (own && !messages_.empty() && messages_.back().role == "assistant" && !messages_.back().content &&
      messages_.back().tool_calls.empty())
    messages_.back().content = std::move(text);
  else
    messages_.push_back({.role = *role, .content = std::move(text)});
  return kept;
}

Result<json::object> ItemReader::add_call(ObjectReader& item) {
  engine::ChatToolCall call;
  KVERN_TRY(call.id, item.required_string("call_id"));
  KVERN_TRY(call.name, item.required_string("name"));
  KVERN_TRY(call.arguments, item.required_string("arguments"));
  KVERN_TRY(std::string id, read_id(item, "fc_"));
  KVERN_TRY_STATUS(read_status(item));
  KVERN_TRY_STATUS(item.refuse("namespace", "functions have none"));
  KVERN_TRY_STATUS(item.refuse("caller", "calls are made by the model alone", {R"({"type":"direct"})"}));
  KVERN_TRY_STATUS(item.finish());
  json::object kept{{"id", std::move(id)}, {"type", "function_call"}, {"status", "completed"},
                    {"call_id", call.id},  {"name", call.name},       {"arguments", call.arguments}};
  function_of_call_[call.id] = call.name;
  assistant().tool_calls.push_back(std::move(call));
  return kept;
}

Result<json::object> ItemReader::add_output(ObjectReader& item) {
  KVERN_TRY(std::string call_id, item.required_string("call_id"));
  const auto function = function_of_call_.find(call_id);
  if (function == function_of_call_.end())
    return invalid(item.path_of("call_id"), "no function_call of this call_id came before");
  KVERN_TRY(std::string output, read_texts(item, "output", "input_text"));
  KVERN_TRY(std::string id, read_id(item, "fco_"));
  KVERN_TRY_STATUS(read_status(item));
  KVERN_TRY_STATUS(item.refuse("caller", "calls are made by the model alone", {R"({"type":"direct"})"}));
  KVERN_TRY_STATUS(item.finish());
  json::object kept{{"id", std::move(id)},
                    {"type", "function_call_output"},
                    {"status", "completed"},
                    {"call_id", call_id},
                    {"output", output}};
  messages_.push_back({.role = "tool",
                       .content = std::move(output),
                       .name = function->second,
                       .tool_call_id = std::move(call_id)});
  return kept;
}

Result<json::object> ItemReader::add_reasoning(ObjectReader& item) {
  KVERN_TRY(std::string id, read_id(item, "rs_"));
  KVERN_TRY_STATUS(item.refuse("summary", "reasoning is told in full, as content", {"[]"}));
  KVERN_TRY_STATUS(item.refuse("encrypted_content", "reasoning is told in clear, as content"));
  std::string text;
  if (const json::value* content = item.take("content"); content != nullptr) {
    KVERN_TRY(text, read_texts(item, "content", "reasoning_text"));
  }
  KVERN_TRY_STATUS(read_status(item));
  KVERN_TRY_STATUS(item.finish());
  json::object kept{{"id", std::move(id)},
                    {"type", "reasoning"},
                    {"summary", json::array{}},
                    {"content", json::array{json::object{{"type", "reasoning_text"}, {"text", text}}}},
                    {"status", "completed"}};
  // Reasoning begins a message: it does not belong to what was said before.
  if (messages_.empty() || messages_.back().role != "assistant" || messages_.back().content ||
      !messages_.back().tool_calls.empty())
    messages_.push_back({.role = "assistant"});
  messages_.back().reasoning = messages_.back().reasoning.value_or("") + text;
  return kept;
}

Result<json::object> ItemReader::add(const json::value& value, const std::string& path) {
  KVERN_TRY(ObjectReader item, ObjectReader::of(value, path));
  KVERN_TRY(const auto type, item.string("type"));
  if (!type || *type == "message") return add_message(item);
  if (*type == "function_call") return add_call(item);
  if (*type == "function_call_output") return add_output(item);
  if (*type == "reasoning") return add_reasoning(item);
  return unsupported_type(item, *type, "messages, function calls, their outputs and reasoning");
}

}  // namespace kvern::server::responses
