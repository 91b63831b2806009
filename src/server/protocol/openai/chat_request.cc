#include "server/protocol/openai/chat_request.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "engine/chat/chat_prompt.h"
#include "server/protocol/openai/constraint_fields.h"
#include "server/protocol/openai/message_fields.h"
#include "server/protocol/openai/tool_fields.h"

namespace kvern::server::openai {
namespace {

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, message), path);
}

Status read_max_tokens(ObjectReader& body, const ProtocolContext& context,
                       engine::GenerateRequest& generate) {
  const IntegerRange range{1, max_new_tokens(context)};
  KVERN_TRY(const auto old_name, body.integer("max_tokens", range));
  KVERN_TRY(const auto new_name, body.integer("max_completion_tokens", range));
  if (old_name && new_name && *old_name != *new_name)
    return invalid("max_tokens", "it and max_completion_tokens mean the same, and are not equal");
  // Without a limit the context is one.
  generate.max_new_tokens = new_name ? *new_name : old_name.value_or(range.max);
  return Ok{};
}

Status read_logprobs(ObjectReader& body, const ProtocolContext& context, ChatRequest& request) {
  KVERN_TRY(const auto wanted, body.boolean("logprobs"));
  KVERN_TRY(const auto top, body.integer("top_logprobs", {0, context.limits.max_top_logprobs}));
  if (top && !wanted.value_or(false)) return invalid("top_logprobs", "only allowed when logprobs is true");
  if (!wanted.value_or(false)) return Ok{};
  request.answer.top_logprobs = static_cast<uint32_t>(top.value_or(0));
  request.service.generate.sampling.top_logprobs = request.answer.top_logprobs;
  return Ok{};
}

/// "none" is what templates call enable_thinking = false.
Status read_effort(ObjectReader& body, const engine::ChatFormat& format, engine::ChatOptions& options) {
  KVERN_TRY(const auto effort,
            body.word("reasoning_effort", {"none", "minimal", "low", "medium", "high", "xhigh"}));
  if (!effort) return Ok{};
  if (format.mentions("reasoning_effort")) {
    options.variables["reasoning_effort"] = *effort;
    return Ok{};
  }
  if (*effort == "none" && !format.reasons()) return Ok{};
  if (*effort == "none" && format.mentions("enable_thinking")) {
    options.variables["enable_thinking"] = false;
    return Ok{};
  }
  return fail(ErrorCode::kUnsupported,
              "reasoning_effort is not supported: this model's template has no such setting",
              "reasoning_effort");
}

Result<engine::ChatOptions> read_template_fields(ObjectReader& body, const engine::ChatFormat& format) {
  engine::ChatOptions options;
  KVERN_TRY(const json::object* variables, body.object("chat_template_kwargs"));
  if (variables != nullptr) options.variables = *variables;
  KVERN_TRY(const auto continued, body.boolean("continue_final_message"));
  options.continue_final_message = continued.value_or(false);
  KVERN_TRY(const auto begun, body.boolean("add_generation_prompt"));
  options.add_generation_prompt = begun.value_or(!options.continue_final_message);
  KVERN_TRY_STATUS(read_effort(body, format, options));
  return options;
}

Status read_reply_fields(ObjectReader& body, const engine::ChatFormat& format, engine::ReplyFormat& reply) {
  KVERN_TRY(const auto kind, body.word("reasoning_format", {"none", "auto", "deepseek"}));
  reply.reasoning = format.reasons() && kind.value_or("auto") != "none";
  return Ok{};
}

Status refuse_other_fields(ObjectReader& body) {
  KVERN_TRY_STATUS(refuse_stored_and_paid(body));
  KVERN_TRY_STATUS(body.refuse("modalities", "there is text only", {"[\"text\"]"}));
  KVERN_TRY_STATUS(body.refuse("audio", "there is text only"));
  KVERN_TRY_STATUS(body.refuse("prediction", "it would change nothing but the speed"));
  KVERN_TRY_STATUS(body.refuse("web_search_options", "this server searches nothing"));
  KVERN_TRY_STATUS(body.refuse("verbosity", "say it in a message", {"\"medium\""}));
  return body.finish();
}

std::unexpected<Error> unsupported(const std::string& path, std::string message) {
  return fail(ErrorCode::kUnsupported, fmt::format("{}: {}", path, message), path);
}

/// The functions that the grammar knows: all, or the one that must be called.
std::vector<engine::ToolFunction> callable(const ToolRequest& tools) {
  if (tools.named.empty()) return tools.functions;
  std::vector<engine::ToolFunction> one;
  std::ranges::copy_if(tools.functions, std::back_inserter(one),
                       [&](const engine::ToolFunction& function) { return function.name == tools.named; });
  return one;
}

/// Calls that are demanded, and arguments that must follow a schema, need a grammar.
Status constrain_calls(const ToolRequest& tools, const ProtocolContext& context, ChatRequest& request) {
  const bool required = tools.choice == ToolChoice::kRequired;
  if (!required && std::ranges::none_of(tools.functions, &engine::ToolFunction::strict)) return Ok{};
  if (context.grammars == nullptr) return unsupported("tools", "calls cannot be enforced on this model");
  auto grammar = context.grammars->structure(tool_call_structure(
      callable(tools), {.style = request.reply.calls, .required = required, .several = tools.parallel}));
  if (!grammar) return invalid("tools", grammar.error().to_string());
  request.service.grammar = *std::move(grammar);
  return Ok{};
}

/// Tools that are offered need a way for the model to call them.
Status apply_tools(const ToolRequest& tools, const ProtocolContext& context, ChatRequest& request) {
  if (tools.choice == ToolChoice::kNone) return Ok{};
  const engine::ToolCallStyle style = (*context.chat)->tool_call_style();
  if (style == engine::ToolCallStyle::kNone)
    return unsupported("tools",
                       "this model's chat template offers none, or in a way that this server does not know");
  if (request.service.grammar != nullptr)
    return unsupported("tools",
                       "not together with a response format or grammar; set tool_choice to \"none\"");
  request.reply.calls = style;
  request.reply.single_call = !tools.parallel;
  for (const engine::ToolFunction& function : tools.functions) request.reply.tools.push_back(function.name);
  return constrain_calls(tools, context, request);
}

Status render(const engine::ChatPrompt& prompt, const engine::ChatOptions& options,
              const ProtocolContext& context, ChatRequest& request) {
  auto rendered = prompt.render(**context.chat, context.clock, options);
  if (!rendered) {
    // Whatever a template cannot take, it is this conversation that it cannot take.
    const Error& error = rendered.error();
    const bool option = error.where == "continue_final_message" || error.where == "chat_template_kwargs";
    const std::string path = option ? error.where : "messages";
    return invalid(path,
                   option ? error.message
                          : fmt::format("the model's chat template does not take them: {}", error.message));
  }
  const auto tokens = static_cast<int64_t>(rendered->tokens.size());
  if (tokens == 0) return invalid("messages", "they make an empty prompt");
  if (tokens > context.engine.context_tokens()) {
    return fail(ErrorCode::kExhausted,
                fmt::format("This model's maximum context length is {} tokens, and the messages have {}.",
                            context.engine.context_tokens(), tokens),
                "prompt");
  }
  request.service.generate.prompt = std::move(rendered->tokens);
  request.service.generate.max_new_tokens =
      std::min(request.service.generate.max_new_tokens, context.engine.context_tokens());
  // A grammar holds from the first token on: there is no room for reasoning.
  request.reply.reasoning = request.reply.reasoning && request.service.grammar == nullptr;
  request.reply.begins_in_reasoning = request.reply.reasoning && rendered->opens_reasoning;
  return Ok{};
}

}  // namespace

Result<ChatRequest> read_chat_request(const json::value& value, const ProtocolContext& context) {
  KVERN_TRY(ObjectReader body, ObjectReader::of(value, ""));
  ChatRequest request;
  KVERN_TRY_STATUS(read_generation_fields(body, context, request.service, request.answer));
  if (!context.chat) return fail(ErrorCode::kUnsupported, context.chat.error().message, "messages");
  KVERN_TRY_STATUS(read_max_tokens(body, context, request.service.generate));
  KVERN_TRY_STATUS(read_logprobs(body, context, request));
  engine::ChatPrompt prompt;
  KVERN_TRY(std::vector<engine::ChatMessage> messages, read_messages(body));
  for (engine::ChatMessage& message : messages) prompt.add(std::move(message));
  KVERN_TRY(ToolRequest tools, read_tools(body, context.limits.max_tools));
  KVERN_TRY(const engine::ChatOptions options, read_template_fields(body, **context.chat));
  KVERN_TRY_STATUS(read_reply_fields(body, **context.chat, request.reply));
  KVERN_TRY(request.service.grammar, read_constraint(body, context));
  KVERN_TRY_STATUS(refuse_other_fields(body));
  KVERN_TRY_STATUS(apply_tools(tools, context, request));
  prompt.set_tools(std::move(tools.for_template));
  KVERN_TRY_STATUS(render(prompt, options, context, request));
  request.answer.id = context.ids.next("chatcmpl-");
  return request;
}

}  // namespace kvern::server::openai
