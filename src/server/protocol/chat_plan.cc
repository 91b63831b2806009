#include "server/protocol/chat_plan.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "server/protocol/prompt_length.h"

namespace kvern::server {
namespace {

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, message), path);
}

std::unexpected<Error> unsupported(const std::string& path, std::string message) {
  return fail(ErrorCode::kUnsupported, fmt::format("{}: {}", path, message), path);
}

/// Calls that are demanded, and arguments that must follow a schema, need a grammar.
Status constrain_calls(const ToolRequest& tools, const ProtocolContext& context, ChatPlan& plan) {
  const bool required = tools.choice == ToolChoice::kRequired;
  if (!required && std::ranges::none_of(tools.functions, &engine::ToolFunction::strict)) return Ok{};
  if (context.grammars == nullptr) return unsupported("tools", "calls cannot be enforced on this model");
  auto grammar = context.grammars->structure(tool_call_structure(
      callable_tools(tools), {.style = plan.reply.calls, .required = required, .several = tools.parallel}));
  if (!grammar) return invalid("tools", grammar.error().to_string());
  plan.service.grammar = *std::move(grammar);
  return Ok{};
}

/// Tools that are offered need a way for the model to call them.
Status apply_tools(const ToolRequest& tools, const ProtocolContext& context, ChatPlan& plan) {
  if (tools.choice == ToolChoice::kNone) return Ok{};
  const engine::ToolCallStyle style = (*context.chat)->tool_call_style();
  if (style == engine::ToolCallStyle::kNone)
    return unsupported("tools",
                       "this model's chat template offers none, or in a way that this server does not know");
  if (plan.service.grammar != nullptr)
    return unsupported("tools",
                       "not together with a response format or grammar; set tool_choice to \"none\"");
  plan.reply.calls = style;
  plan.reply.single_call = !tools.parallel;
  for (const engine::ToolFunction& function : tools.functions) plan.reply.tools.push_back(function.name);
  return constrain_calls(tools, context, plan);
}

Status check_length(size_t tokens, const FieldNames& names, const ProtocolContext& context) {
  if (tokens == 0) return invalid(std::string(names.prompt), "it makes an empty prompt");
  return check_prompt_length(tokens, fmt::format("the {} have", names.prompt), context.engine);
}

}  // namespace

Result<engine::RenderedChat> render_chat(const ChatWishes& wishes, const FieldNames& names,
                                         const ProtocolContext& context) {
  const std::string field(names.prompt);
  if (!context.chat) return fail(ErrorCode::kUnsupported, context.chat.error().message, field);
  engine::ChatPrompt prompt = wishes.prompt;
  prompt.set_tools(template_tools(wishes.tools));
  auto rendered = prompt.render(**context.chat, context.clock, wishes.options);
  if (rendered) return rendered;
  // Whatever a template cannot take, it is this conversation that it cannot take.
  const Error& error = rendered.error();
  const bool option = error.where == "continue_final_message" || error.where == "chat_template_kwargs";
  const std::string path = option ? error.where : field;
  return invalid(path, option
                           ? error.message
                           : fmt::format("the model's chat template does not take them: {}", error.message));
}

Status plan_chat(ChatWishes wishes, const FieldNames& names, const ProtocolContext& context, ChatPlan& plan) {
  if (!context.chat)
    return fail(ErrorCode::kUnsupported, context.chat.error().message, std::string(names.prompt));
  plan.service.grammar = std::move(wishes.grammar);
  KVERN_TRY_STATUS(apply_tools(wishes.tools, context, plan));
  wishes.options.most_tokens = most_counted_tokens(context.engine);
  KVERN_TRY(engine::RenderedChat rendered, render_chat(wishes, names, context));
  KVERN_TRY_STATUS(check_length(rendered.tokens.size(), names, context));
  engine::GenerateRequest& generate = plan.service.generate;
  generate.prompt = std::move(rendered.tokens);
  generate.max_new_tokens = std::min(generate.max_new_tokens, context.engine.context_tokens());
  // A grammar holds from the first token on: there is no room for reasoning.
  plan.reply.reasoning = wishes.reasoning && (*context.chat)->reasons() && plan.service.grammar == nullptr;
  plan.reply.begins_in_reasoning = plan.reply.reasoning && rendered.opens_reasoning;
  return Ok{};
}

}  // namespace kvern::server
