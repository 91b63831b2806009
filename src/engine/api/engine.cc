#include "kvern/engine.h"

#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "engine/api/event_queue.h"
#include "engine/api/options.h"
#include "engine/api/request_grammars.h"
#include "engine/chat/chat_format.h"
#include "engine/chat/chat_prompt.h"
#include "engine/loop/engine_loop.h"

namespace kvern {
namespace {

engine::LoopOptions loop_options(const EngineOptions& options, size_t budget_bytes) {
  engine::LoopOptions loop;
  loop.max_rows = options.max_rows;
  loop.max_queue = options.max_waiting;
  const size_t all = budget_bytes == 0 ? std::numeric_limits<size_t>::max() : budget_bytes;
  loop.prefix.max_bytes = options.prefix_bytes.value_or(all);
  return loop;
}

Status check_count(int64_t value, const char* name) {
  if (value >= 1) return Ok{};
  return fail(ErrorCode::kInvalidArgument, std::to_string(value) + " is less than 1", name);
}

}  // namespace

// Members are destroyed from the last to the first: the loop before what it drives.
struct Engine::Core {
  std::unique_ptr<Files> files = make_posix_files();
  std::unique_ptr<Clock> clock = make_system_clock();
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<engine::KvDirectory> kv;                 // null: nothing is saved
  Result<std::shared_ptr<const engine::ChatFormat>> chat;  // or why the model cannot chat
  std::unique_ptr<engine::RequestGrammars> grammars;
  std::unique_ptr<engine::EngineLoop> loop;

  Result<const text::Tokenizer*> tokenizer() const {
    if (engine->tokenizer() != nullptr) return engine->tokenizer();
    return fail(ErrorCode::kInvalidArgument, "this model has no tokenizer", engine->options().model_path);
  }

  Result<std::vector<int32_t>> encode(std::string_view text) const {
    KVERN_TRY(const text::Tokenizer* words, tokenizer());
    return words->encode(text, {.add_special = true, .parse_special = true});
  }

  Result<std::vector<int32_t>> prompt_of(const Request& request) const {
    const int given =
        (request.prompt.empty() ? 0 : 1) + (request.ids.empty() ? 0 : 1) + (request.messages.empty() ? 0 : 1);
    if (given != 1) {
      return fail(ErrorCode::kInvalidArgument, "give exactly one of prompt, ids and messages", "prompt");
    }
    if (!request.ids.empty()) return request.ids;
    if (!request.prompt.empty()) return encode(request.prompt);
    if (!chat) return std::unexpected(chat.error());
    engine::ChatPrompt conversation;
    for (const ChatMessage& message : request.messages) conversation.add(message.role, message.content);
    KVERN_TRY(engine::RenderedChat rendered, conversation.render(**chat, *clock));
    return std::move(rendered.tokens);
  }

  Result<std::shared_ptr<const text::Grammar>> grammar_of(const Request& request) const {
    if (!request.json_schema.empty() && !request.grammar.empty()) {
      return fail(ErrorCode::kInvalidArgument, "give at most one of json_schema and grammar", "grammar");
    }
    if (!request.json_schema.empty()) return grammars->json_schema(request.json_schema);
    if (!request.grammar.empty()) return grammars->gbnf(request.grammar);
    return nullptr;
  }

  Result<engine::ServiceRequest> service_request(const Request& request) const {
    engine::ServiceRequest made;
    made.generate = engine::generate_request(request.options);
    made.generate.sampling.top_logprobs = request.top_logprobs;
    KVERN_TRY(made.generate.prompt, prompt_of(request));
    KVERN_TRY(made.grammar, grammar_of(request));
    made.choices = request.choices;
    made.client = request.client;
    made.cache_namespace = request.name_space;
    made.reuse_prefix = request.reuse_prefix;
    if (request.timeout.count() < 0) {
      return fail(ErrorCode::kInvalidArgument, "must not be negative", "timeout");
    }
    if (request.timeout.count() > 0) made.deadline = clock->now() + request.timeout;
    return made;
  }
};

struct Reply::State {
  std::weak_ptr<Engine::Core> core;
  engine::Ticket ticket{};
  std::shared_ptr<engine::EventQueue> events;
  size_t choices = 0;

  void cancel() const {
    if (events->over()) return;
    if (const auto alive = core.lock()) alive->loop->cancel(ticket);
  }
};

Reply::Reply(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reply::Reply(Reply&&) noexcept = default;
Reply& Reply::operator=(Reply&& other) noexcept {
  if (state_ != nullptr && state_ != other.state_) state_->cancel();
  state_ = std::move(other.state_);
  return *this;
}
Reply::~Reply() {
  if (state_ != nullptr) state_->cancel();
}

Result<std::optional<Event>> Reply::next() { return state_->events->next(); }
bool Reply::ready() const { return state_->events->ready(); }
void Reply::cancel() { state_->cancel(); }

Result<Completion> Reply::wait() {
  Completion all{.choices = std::vector<Generation>(state_->choices), .usage = {}};
  for (;;) {
    KVERN_TRY(std::optional<Event> event, next());
    if (!event) break;
    Generation& choice = all.choices[static_cast<size_t>(event->choice)];
    choice.text += event->text;
    if (event->kind == EventKind::kToken) choice.ids.push_back(event->token);
    if (event->kind == EventKind::kChoiceEnd) choice.finish_reason = std::move(event->finish_reason);
    if (event->kind == EventKind::kEnd) all.usage = event->usage;
  }
  for (Generation& choice : all.choices) {
    choice.prompt_tokens = all.usage.prompt_tokens;
    choice.reused_tokens = all.usage.cached_tokens;
  }
  return all;
}

Engine::Engine(std::shared_ptr<Core> core) : core_(std::move(core)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&& other) noexcept {
  std::swap(core_, other.core_);
  return *this;
}
Engine::~Engine() {
  if (core_ == nullptr) return;
  if (core_->kv != nullptr) static_cast<void>(core_->loop->flush(core_->clock->now() + engine::kSaveAtEnd));
  // A reply that is being cancelled may hold the core for a moment longer.
  core_->loop->stop(engine::StopMode::kCancel);
  core_->loop->wait_stopped();
}

Result<Engine> Engine::load(const EngineOptions& options) {
  KVERN_TRY_STATUS(check_count(options.max_rows, "max_rows"));
  KVERN_TRY_STATUS(check_count(options.max_waiting, "max_waiting"));
  auto core = std::make_shared<Core>();
  engine::EngineOptions wanted = engine::engine_options(options.model);
  wanted.kv_budget_bytes = options.kv_bytes;
  KVERN_TRY(core->engine, engine::Engine::open(*core->files, wanted));
  core->chat = engine::ChatFormat::create(*core->engine);
  core->grammars = std::make_unique<engine::RequestGrammars>(*core->engine);
  engine::LoopOptions loop = loop_options(options, core->engine->kv().options().budget_bytes);
  KVERN_TRY(core->kv, engine::open_kv_directory(options.model, *core->files, *core->clock));
  if (core->kv != nullptr) KVERN_TRY_STATUS(core->kv->add_to(loop.tiers, *core->engine));
  try {
    core->loop = std::make_unique<engine::EngineLoop>(*core->engine, *core->clock, loop);
  } catch (const std::system_error&) {
    return fail(ErrorCode::kExhausted, "the system gives no thread", "threads");
  }
  return Engine(std::move(core));
}

Result<Reply> Engine::submit(const Request& request) {
  KVERN_TRY(engine::ServiceRequest service, core_->service_request(request));
  auto state = std::make_unique<Reply::State>();
  state->core = core_;
  state->choices = static_cast<size_t>(std::max(request.choices, 0));
  state->events = std::make_shared<engine::EventQueue>();
  KVERN_TRY(state->ticket, core_->loop->submit(std::move(service), state->events));
  return Reply(std::move(state));
}

EngineStats Engine::stats() const {
  const engine::ServiceStats now = core_->loop->stats();
  return {.steps = now.steps,
          .requests_ended = now.requests_ended,
          .requests_failed = now.requests_failed,
          .requests_cancelled = now.requests_cancelled,
          .prompt_tokens = now.prompt_tokens,
          .cached_tokens = now.cached_tokens,
          .generated_tokens = now.generated_tokens,
          .running = now.running,
          .waiting = now.waiting,
          .outside = now.outside,
          .kept_prefixes = now.prefix_entries,
          .kv_budget_bytes = now.kv_budget_bytes,
          .kv_live_bytes = now.kv_live_bytes,
          .kv_shared_bytes = now.kv_shared_bytes,
          .healthy = now.healthy};
}

int64_t Engine::context_tokens() const { return core_->engine->context_tokens(); }

Result<std::vector<int32_t>> Engine::tokenize(std::string_view text) const { return core_->encode(text); }

Result<std::string> Engine::detokenize(const std::vector<int32_t>& ids) const {
  KVERN_TRY(const text::Tokenizer* words, core_->tokenizer());
  return words->decode(ids, {.skip_special = true});
}

}  // namespace kvern
