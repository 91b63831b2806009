#include "kvern/language_model.h"

#include "base/clock.h"
#include "base/files.h"
#include "engine/api/options.h"
#include "engine/chat/chat_prompt.h"
#include "engine/loop/session.h"

namespace kvern {

struct LanguageModel::Impl {
  std::unique_ptr<Files> files;
  std::unique_ptr<Clock> clock;
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<engine::KvDirectory> kv;   // null: nothing is saved
  std::unique_ptr<engine::Session> session;  // destroyed before the engine, which holds its row

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (kv != nullptr && session != nullptr) session->save(clock->now() + engine::kSaveAtEnd);
  }

  Result<const text::Tokenizer*> tokenizer() const {
    if (engine->tokenizer() != nullptr) return engine->tokenizer();
    return fail(ErrorCode::kInvalidArgument, "this model has no tokenizer", engine->options().model_path);
  }

  Result<Generation> run(std::vector<int32_t> prompt, const GenerateOptions& options, const OnText& on_text) {
    engine::GenerateRequest request = engine::generate_request(options);
    request.prompt = std::move(prompt);
    bool cancelled = false;
    engine::GenerateEvents events;
    events.is_cancelled = [&] { return cancelled; };
    if (on_text) events.on_text = [&](std::string_view text) { cancelled = cancelled || !on_text(text); };
    KVERN_TRY(engine::GenerateResult result, session->generate(request, events));
    return Generation{.text = std::move(result.text),
                      .ids = std::move(result.ids),
                      .finish_reason = std::string(engine::to_string(result.finish_reason)),
                      .prompt_tokens = result.prompt_tokens,
                      .reused_tokens = result.reused_tokens};
  }
};

LanguageModel::LanguageModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LanguageModel::LanguageModel(LanguageModel&&) noexcept = default;
LanguageModel& LanguageModel::operator=(LanguageModel&&) noexcept = default;
LanguageModel::~LanguageModel() = default;

Result<LanguageModel> LanguageModel::load(const ModelOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->files = make_posix_files();
  impl->clock = make_system_clock();
  KVERN_TRY(impl->engine, engine::Engine::open(*impl->files, engine::engine_options(options)));
  engine::TierOptions tiers;
  KVERN_TRY(impl->kv, engine::open_kv_directory(options, *impl->files, *impl->clock));
  if (impl->kv != nullptr) KVERN_TRY_STATUS(impl->kv->add_to(tiers, *impl->engine));
  impl->session = std::make_unique<engine::Session>(*impl->engine, std::move(tiers));
  return LanguageModel(std::move(impl));
}

Result<Generation> LanguageModel::generate(std::string_view prompt, const GenerateOptions& options,
                                           const OnText& on_text) {
  KVERN_TRY(std::vector<int32_t> ids, tokenize(prompt));
  return impl_->run(std::move(ids), options, on_text);
}

Result<Generation> LanguageModel::generate(const std::vector<int32_t>& prompt, const GenerateOptions& options,
                                           const OnText& on_text) {
  return impl_->run(prompt, options, on_text);
}

Result<Generation> LanguageModel::chat(const std::vector<ChatMessage>& messages,
                                       const GenerateOptions& options, const OnText& on_text) {
  engine::ChatPrompt prompt;
  for (const ChatMessage& message : messages) prompt.add(message.role, message.content);
  KVERN_TRY(std::vector<int32_t> ids, prompt.encode(*impl_->engine, *impl_->clock));
  return impl_->run(std::move(ids), options, on_text);
}

Result<std::vector<int32_t>> LanguageModel::tokenize(std::string_view text) const {
  KVERN_TRY(const text::Tokenizer* tokenizer, impl_->tokenizer());
  return tokenizer->encode(text, {.add_special = true, .parse_special = true});
}

Result<std::string> LanguageModel::detokenize(const std::vector<int32_t>& ids) const {
  KVERN_TRY(const text::Tokenizer* tokenizer, impl_->tokenizer());
  return tokenizer->decode(ids, {.skip_special = true});
}

}  // namespace kvern
