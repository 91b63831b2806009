// kvern/kvern.h: many requests at once, as kvern/engine.h.
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/api/c_convert.h"
#include "kvern/engine.h"
#include "kvern/kvern.h"
#include "state/api/c_error.h"

using kvern::EventKind;
using kvern::Ok;
using kvern::Result;
using kvern::Status;
using kvern::c_api::check_array;
using kvern::c_api::check_pointer;
using kvern::c_api::copied;
using kvern::c_api::guarded;

struct kvern_engine {
  kvern::Engine engine;
};

struct kvern_reply {
  kvern::Reply reply;
  kvern::Event last{};  // what the caller's event points to
  std::vector<kvern_token_probability> top{};
};

namespace {

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

std::optional<uint64_t> bytes_of(uint64_t bytes) {
  if (bytes == KVERN_DEFAULT_BYTES) return std::nullopt;
  return bytes;
}

Result<kvern::EngineOptions> options_of(const kvern_engine_options& options) {
  kvern::EngineOptions made{.kv_bytes = bytes_of(options.kv_bytes),
                            .prefix_bytes = bytes_of(options.prefix_bytes),
                            .max_rows = options.max_rows,
                            .max_waiting = options.max_waiting};
  KVERN_TRY(made.model, kvern::c_api::model_options_of(options.model));
  return made;
}

Result<kvern::Request> request_of(const kvern_request& request) {
  KVERN_TRY_STATUS(check_array(request.ids, request.id_count, "ids"));
  KVERN_TRY_STATUS(check_array(request.messages, request.message_count, "messages"));
  if (request.options.on_text != nullptr) {
    return kvern::fail(kvern::ErrorCode::kInvalidArgument,
                       "must be NULL: what is generated comes by kvern_reply_next", "on_text");
  }
  kvern::Request made{.prompt = text_of(request.prompt),
                      .ids = kvern::c_api::ids_of(request.ids, request.id_count),
                      .choices = request.choices,
                      .json_schema = text_of(request.json_schema),
                      .grammar = text_of(request.grammar),
                      .client = text_of(request.client),
                      .name_space = text_of(request.name_space),
                      .reuse_prefix = request.reuse_prefix,
                      .timeout = std::chrono::milliseconds(request.timeout_ms)};
  KVERN_TRY(made.messages, kvern::c_api::messages_of({request.messages, request.message_count}));
  KVERN_TRY(made.options, kvern::c_api::generate_options_of(request.options));
  if (request.top_logprobs >= 0) made.top_logprobs = static_cast<uint32_t>(request.top_logprobs);
  return made;
}

kvern_event_kind kind_of(EventKind kind) {
  switch (kind) {
    case EventKind::kPrompt:
      return KVERN_EVENT_PROMPT;
    case EventKind::kToken:
      return KVERN_EVENT_TOKEN;
    case EventKind::kChoiceEnd:
      return KVERN_EVENT_CHOICE_END;
    case EventKind::kEnd:
      return KVERN_EVENT_END;
  }
  return KVERN_EVENT_NONE;
}

kvern_usage usage_of(const kvern::Usage& usage) {
  return {.prompt_tokens = usage.prompt_tokens,
          .cached_tokens = usage.cached_tokens,
          .computed_tokens = usage.computed_tokens,
          .generated_tokens = usage.generated_tokens,
          .queue_ms = usage.queue_ms,
          .prefill_ms = usage.prefill_ms,
          .decode_ms = usage.decode_ms};
}

// Of the reply's last event, to which it points.
kvern_event event_of(kvern_reply& reply) {
  const kvern::Event& event = reply.last;
  reply.top.clear();
  for (const kvern::TokenProbability& likely : event.top) {
    reply.top.push_back({.token = likely.token, .logprob = likely.logprob});
  }
  return {.kind = kind_of(event.kind),
          .choice = event.choice,
          .text = event.text.c_str(),
          .text_size = event.text.size(),
          .token = event.token,
          .logprob = event.logprob,
          .top = reply.top.empty() ? nullptr : reply.top.data(),
          .top_count = reply.top.size(),
          .finish_reason = kvern::c_api::static_reason(event.finish_reason),
          .stop_string = event.stop_string.c_str(),
          .usage = usage_of(event.usage)};
}

}  // namespace

kvern_engine_options kvern_engine_options_default(void) {
  const kvern::EngineOptions options;
  return {.model = kvern_model_options_default(),
          .kv_bytes = KVERN_DEFAULT_BYTES,
          .prefix_bytes = KVERN_DEFAULT_BYTES,
          .max_rows = options.max_rows,
          .max_waiting = options.max_waiting};
}

kvern_code kvern_engine_load(const kvern_engine_options* options, kvern_engine** out, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(out, "out"));
    *out = nullptr;
    KVERN_TRY_STATUS(check_pointer(options, "options"));
    KVERN_TRY(const kvern::EngineOptions made, options_of(*options));
    KVERN_TRY(kvern::Engine engine, kvern::Engine::load(made));
    *out = new kvern_engine{std::move(engine)};
    return Ok{};
  });
}

void kvern_engine_free(kvern_engine* engine) { delete engine; }

kvern_request kvern_request_default(void) {
  const kvern::Request request;
  return {.prompt = nullptr,
          .ids = nullptr,
          .id_count = 0,
          .messages = nullptr,
          .message_count = 0,
          .options = kvern_generate_options_default(),
          .choices = request.choices,
          .json_schema = nullptr,
          .grammar = nullptr,
          .top_logprobs = -1,
          .client = nullptr,
          .name_space = nullptr,
          .reuse_prefix = request.reuse_prefix,
          .timeout_ms = 0};
}

kvern_code kvern_engine_submit(kvern_engine* engine, const kvern_request* request, kvern_reply** out,
                               kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(out, "out"));
    *out = nullptr;
    KVERN_TRY_STATUS(check_pointer(engine, "engine"));
    KVERN_TRY_STATUS(check_pointer(request, "request"));
    KVERN_TRY(const kvern::Request made, request_of(*request));
    KVERN_TRY(kvern::Reply reply, engine->engine.submit(made));
    *out = new kvern_reply{std::move(reply)};
    return Ok{};
  });
}

void kvern_reply_free(kvern_reply* reply) { delete reply; }

kvern_code kvern_reply_next(kvern_reply* reply, kvern_event* out, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(reply, "reply"));
    KVERN_TRY_STATUS(check_pointer(out, "out"));
    KVERN_TRY(std::optional<kvern::Event> event, reply->reply.next());
    const bool ended = !event;
    reply->last = std::move(event).value_or(kvern::Event{});
    *out = event_of(*reply);
    if (ended) out->kind = KVERN_EVENT_NONE;
    return Ok{};
  });
}

bool kvern_reply_ready(const kvern_reply* reply) { return reply != nullptr && reply->reply.ready(); }

void kvern_reply_cancel(kvern_reply* reply) {
  if (reply != nullptr) reply->reply.cancel();
}

kvern_code kvern_engine_get_stats(const kvern_engine* engine, kvern_engine_stats* out, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(engine, "engine"));
    KVERN_TRY_STATUS(check_pointer(out, "out"));
    const kvern::EngineStats now = engine->engine.stats();
    *out = {.steps = now.steps,
            .requests_ended = now.requests_ended,
            .requests_failed = now.requests_failed,
            .requests_cancelled = now.requests_cancelled,
            .prompt_tokens = now.prompt_tokens,
            .cached_tokens = now.cached_tokens,
            .generated_tokens = now.generated_tokens,
            .running = now.running,
            .waiting = now.waiting,
            .outside = now.outside,
            .kept_prefixes = now.kept_prefixes,
            .kv_budget_bytes = now.kv_budget_bytes,
            .kv_live_bytes = now.kv_live_bytes,
            .kv_shared_bytes = now.kv_shared_bytes,
            .healthy = now.healthy};
    return Ok{};
  });
}

kvern_code kvern_engine_tokenize(const kvern_engine* engine, const char* text, int32_t** ids, size_t* count,
                                 kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(ids, "ids"));
    *ids = nullptr;
    KVERN_TRY_STATUS(check_pointer(engine, "engine"));
    KVERN_TRY_STATUS(check_pointer(text, "text"));
    KVERN_TRY_STATUS(check_pointer(count, "count"));
    KVERN_TRY(const std::vector<int32_t> made, engine->engine.tokenize(text));
    *ids = copied<int32_t>(made);
    *count = made.size();
    return Ok{};
  });
}

kvern_code kvern_engine_detokenize(const kvern_engine* engine, const int32_t* ids, size_t count, char** text,
                                   size_t* size, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(text, "text"));
    *text = nullptr;
    KVERN_TRY_STATUS(check_pointer(engine, "engine"));
    KVERN_TRY_STATUS(check_array(ids, count, "ids"));
    KVERN_TRY(const std::string made, engine->engine.detokenize(kvern::c_api::ids_of(ids, count)));
    *text = copied<char>(made, 1);
    if (size != nullptr) *size = made.size();
    return Ok{};
  });
}
