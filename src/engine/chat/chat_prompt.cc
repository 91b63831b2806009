#include "engine/chat/chat_prompt.h"

#include <fmt/format.h>

#include "engine/chat/user_text.h"
#include "text/template/chat_template.h"

namespace kvern::engine {
namespace {

std::string spelling_of(const text::Tokenizer& tokenizer, std::optional<int32_t> id) {
  return id ? std::string(tokenizer.token_text(*id)) : std::string();
}

}  // namespace

void ChatPrompt::add(std::string_view role, std::string_view content) {
  messages_.push_back(json::object{{"role", role}, {"content", content}});
}

Result<std::vector<int32_t>> ChatPrompt::encode(const Engine& engine, const Clock& clock) const {
  const text::Tokenizer* tokenizer = engine.tokenizer();
  const std::string& where = engine.options().model_path;
  if (tokenizer == nullptr)
    return fail(ErrorCode::kInvalidArgument, "this model has no tokenizer, so it cannot chat", where);
  if (!engine.chat_template()) {
    return fail(ErrorCode::kInvalidArgument,
                "this model has no chat template; give the whole prompt as plain text", where);
  }
  KVERN_TRY(const std::unique_ptr<ChatTemplate> parsed, ChatTemplate::parse(*engine.chat_template(), where));
  const std::string bos = spelling_of(*tokenizer, tokenizer->bos());
  const UserText user_text(*tokenizer);
  json::array messages = messages_;
  for (json::value& message : messages) {
    json::value& content = message.as_object()["content"];
    content = user_text.protect(content.as_string());
  }
  const json::object context{{"messages", std::move(messages)},
                             {"add_generation_prompt", true},
                             {"bos_token", bos},
                             {"eos_token", spelling_of(*tokenizer, tokenizer->eos())}};
  KVERN_TRY(const std::string rendered, parsed->render(context, {.clock = &clock}));
  const MarkedText prompt = user_text.restore(rendered);
  // A template that writes the beginning-of-text token itself must not get a second one.
  const bool has_bos = !bos.empty() && rendered.starts_with(bos);
  return tokenizer->encode(prompt.text,
                           {.add_special = !has_bos, .parse_special = true, .plain = prompt.plain});
}

}  // namespace kvern::engine
