#include "engine/chat/chat_prompt.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace kvern::engine {
namespace {

/// A copy in which no string and no key is a special token's literal.
json::value protect(const json::value& value, const UserText& user_text) {
  if (const json::string* text = value.if_string()) return json::value(user_text.protect(*text));
  if (const json::array* array = value.if_array()) {
    json::array copy;
    copy.reserve(array->size());
    for (const json::value& item : *array) copy.push_back(protect(item, user_text));
    return copy;
  }
  if (const json::object* object = value.if_object()) {
    json::object copy;
    copy.reserve(object->size());
    for (const auto& item : *object) copy[user_text.protect(item.key())] = protect(item.value(), user_text);
    return copy;
  }
  return value;
}

/// Templates were written for Python, where arguments are a dictionary.
json::value arguments_value(const std::string& text) {
  auto parsed = parse_json(text, "");
  if (parsed && parsed->is_object()) return *std::move(parsed);
  return json::value(text);
}

json::object to_json_object(const ChatMessage& message) {
  json::object object{{"role", message.role}, {"content", message.content.value_or("")}};
  if (message.name) object["name"] = *message.name;
  if (message.reasoning) object["reasoning_content"] = *message.reasoning;
  if (message.tool_call_id) object["tool_call_id"] = *message.tool_call_id;
  if (message.tool_calls.empty()) return object;
  json::array calls;
  for (const ChatToolCall& call : message.tool_calls) {
    calls.push_back(json::object{
        {"id", call.id},
        {"type", "function"},
        {"function", json::object{{"name", call.name}, {"arguments", arguments_value(call.arguments)}}}});
  }
  object["tool_calls"] = std::move(calls);
  return object;
}

bool ends_in_reasoning(std::string_view prompt) {
  while (!prompt.empty() && (prompt.back() == '\n' || prompt.back() == ' ')) prompt.remove_suffix(1);
  return prompt.ends_with(kThinkOpen);
}

constexpr std::array kOwnVariables = {"messages", "tools", "add_generation_prompt", "bos_token", "eos_token"};

}  // namespace

void ChatPrompt::add(std::string_view role, std::string_view content) {
  messages_.push_back({.role = std::string(role), .content = std::string(content)});
}

Status ChatPrompt::check(const ChatOptions& options) const {
  for (const char* name : kOwnVariables) {
    if (options.variables.contains(name))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("\"{}\" is given by the conversation itself", name), "chat_template_kwargs");
  }
  if (!options.continue_final_message) return Ok{};
  if (options.add_generation_prompt) {
    return fail(
        ErrorCode::kInvalidArgument,
        "the last message cannot be continued and a new one begun; set add_generation_prompt to false",
        "continue_final_message");
  }
  if (messages_.empty() || messages_.back().role != "assistant" || !messages_.back().tool_calls.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "only a last message of the assistant, without tool calls, can be continued",
                "continue_final_message");
  }
  return Ok{};
}

Result<json::object> ChatPrompt::context(const ChatFormat& format, const ChatOptions& options) const {
  KVERN_TRY_STATUS(check(options));
  json::object context = protect(options.variables, format.user_text()).as_object();
  json::array messages;
  messages.reserve(messages_.size());
  const bool developer = format.mentions("developer");
  for (const ChatMessage& message : messages_) {
    json::object object = protect(to_json_object(message), format.user_text()).as_object();
    if (message.role == "developer" && !developer) object["role"] = "system";
    messages.push_back(std::move(object));
  }
  if (options.continue_final_message) {
    json::string& last = messages.back().as_object()["content"].as_string();
    last += UserText::end_mark();
  }
  context["messages"] = std::move(messages);
  if (!tools_.empty()) context["tools"] = protect(tools_, format.user_text());
  context["add_generation_prompt"] = options.add_generation_prompt;
  context["bos_token"] = format.bos();
  context["eos_token"] = format.eos();
  return context;
}

Result<RenderedChat> ChatPrompt::render(const ChatFormat& format, const Clock& clock,
                                        const ChatOptions& options) const {
  KVERN_TRY(const json::object context, this->context(format, options));
  auto result = format.chat_template().render(context, {.clock = &clock});
  // A template that goes beyond its limits is a bad one: nothing of the machine is used up.
  if (!result && result.error().code == ErrorCode::kExhausted)
    result.error().code = ErrorCode::kInvalidArgument;
  KVERN_TRY(std::string rendered, std::move(result));
  if (options.continue_final_message) {
    const size_t end = rendered.rfind(UserText::end_mark());
    if (end == std::string::npos) {
      return fail(ErrorCode::kUnsupported,
                  "this model's chat template does not end with the last message's text",
                  "continue_final_message");
    }
    rendered.resize(end);
  }
  RenderedChat chat{.prompt = format.user_text().restore(rendered),
                    .opens_reasoning = format.reasons() && ends_in_reasoning(rendered)};
  // A template that writes the beginning-of-text token itself must not get a second one.
  const bool has_bos = !format.bos().empty() && rendered.starts_with(format.bos());
  chat.tokens = format.tokenizer().encode(chat.prompt.text, {.add_special = !has_bos,
                                                             .parse_special = true,
                                                             .plain = chat.prompt.plain,
                                                             .most_tokens = options.most_tokens});
  return chat;
}

Result<std::vector<int32_t>> ChatPrompt::encode(const Engine& engine, const Clock& clock) const {
  KVERN_TRY(const std::shared_ptr<const ChatFormat> format, ChatFormat::create(engine));
  KVERN_TRY(RenderedChat chat, render(*format, clock));
  return std::move(chat.tokens);
}

}  // namespace kvern::engine
