#include "engine/chat/chat_format.h"

namespace kvern::engine {
namespace {

std::string spelling_of(const text::Tokenizer& tokenizer, std::optional<int32_t> id) {
  return id ? std::string(tokenizer.token_text(*id)) : std::string();
}

}  // namespace

Result<std::shared_ptr<const ChatFormat>> ChatFormat::create(const Engine& engine) {
  const text::Tokenizer* tokenizer = engine.tokenizer();
  const std::string& where = engine.options().model_path;
  if (tokenizer == nullptr)
    return fail(ErrorCode::kInvalidArgument, "this model has no tokenizer, so it cannot chat", where);
  if (!engine.chat_template()) {
    return fail(ErrorCode::kInvalidArgument,
                "this model has no chat template; give the whole prompt as plain text", where);
  }
  KVERN_TRY(std::unique_ptr<ChatTemplate> parsed, ChatTemplate::parse(*engine.chat_template(), where));
  return std::shared_ptr<const ChatFormat>(
      new ChatFormat(*tokenizer, *engine.chat_template(), std::move(parsed)));
}

ChatFormat::ChatFormat(const text::Tokenizer& tokenizer, std::string source,
                       std::unique_ptr<ChatTemplate> parsed)
    : tokenizer_(tokenizer),
      source_(std::move(source)),
      template_(std::move(parsed)),
      user_text_(tokenizer),
      bos_(spelling_of(tokenizer, tokenizer.bos())),
      eos_(spelling_of(tokenizer, tokenizer.eos())),
      tool_call_style_(detect_tool_call_style(source_)) {
  for (const std::string_view marker :
       {kThinkOpen, kThinkClose, opening_marker(tool_call_style_), closing_marker(tool_call_style_)}) {
    const auto id = marker.empty() ? std::nullopt : tokenizer.id_of(marker);
    if (id && tokenizer.is_special(*id)) markers_.emplace_back(*id, marker);
  }
}

std::string_view ChatFormat::marker(text::TokenId token) const {
  for (const auto& [id, literal] : markers_)
    if (id == token) return literal;
  return {};
}

}  // namespace kvern::engine
