// kvern for programs that answer many requests at once: one model, one thread that runs it, any number of
// callers. What a request gets is the same as if it ran alone.
//
//   auto engine = kvern::Engine::load({.model = {.path = "model.gguf"}});
//   if (!engine) return complain(engine.error().to_string());
//   auto reply = engine->submit({.messages = {{"user", "What is the color of the sky?"}}});
//   if (!reply) return complain(reply.error().to_string());
//   for (;;) {
//     auto event = reply->next();  // waits
//     if (!event) return complain(event.error().to_string());
//     if (!*event) break;
//     std::cout << (*event)->text << std::flush;
//   }
//
// For one conversation after the other, kvern/language_model.h is simpler.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvern/language_model.h"
#include "kvern/result.h"

namespace kvern {

struct EngineOptions {
  ModelOptions model{};
  /// Most bytes of keys and values, of running requests and kept beginnings together. Nothing: most of what
  /// the machine has left beside the weights; 0: no limit.
  std::optional<uint64_t> kv_bytes{};
  /// Most bytes of these that kept beginnings of prompts may hold; they go when running requests need the
  /// room. Nothing: all of them; 0: nothing is kept.
  std::optional<uint64_t> prefix_bytes{};
  int64_t max_rows = 64;       ///< choices that are generated at the same time; at least 1
  int64_t max_waiting = 1024;  ///< requests that wait for their first step; one more is refused
};

/// What to continue, how, and on whose behalf.
struct Request {
  /// Exactly one of these three: a text, its token ids, or a conversation for the model's chat template.
  std::string prompt{};
  std::vector<int32_t> ids{};
  std::vector<ChatMessage> messages{};

  GenerateOptions options{};
  /// Continuations of the one prompt; choice 0 is what the request with one choice gets.
  int32_t choices = 1;
  /// The text is JSON that is valid under this JSON Schema, or follows this grammar in GBNF, llama.cpp's
  /// notation; at most one of them.
  std::string json_schema{};
  std::string grammar{};
  /// With each token its log-probability and so many most likely tokens.
  std::optional<uint32_t> top_logprobs{};

  /// Whose request it is: clients get turns, not requests, so that one with many does not keep the others
  /// waiting. Any text.
  std::string client{};
  /// Beginnings of prompts are shared among requests with the same text here only.
  std::string name_space{};
  /// Take a kept beginning and keep this one's. Never changes what is generated, only when.
  bool reuse_prefix = true;
  /// The request fails with kExhausted when it has not ended by then, waiting included; 0: never.
  std::chrono::milliseconds timeout{0};
};

struct TokenProbability {
  int32_t token = 0;
  float logprob = 0;
};

/// prompt_tokens = cached_tokens + computed_tokens, once the prompt is done.
struct Usage {
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;  ///< of the prompt, taken from a kept beginning or a running request
  int64_t computed_tokens = 0;
  int64_t generated_tokens = 0;  ///< of all choices
  double queue_ms = 0;           ///< from submit to the first step
  double prefill_ms = 0;         ///< from there to the first token
  double decode_ms = 0;          ///< from there to the end
};

enum class EventKind : uint8_t {
  kPrompt,     ///< a part of the prompt is done: `usage` says how much of it
  kToken,      ///< a new token of a choice
  kChoiceEnd,  ///< a choice has ended; nothing of it follows
  kEnd,        ///< all have; the last event
};

/// Something that happened to a request. Members that do not belong to the kind are as they are made.
struct Event {
  EventKind kind = EventKind::kEnd;
  int32_t choice = 0;
  /// kToken: text that has become certain, complete UTF-8, no part of a stop string; often empty. kChoiceEnd:
  /// what was held back. All texts of a choice, joined, are its text.
  std::string text{};
  int32_t token = 0;
  float logprob = 0;                    ///< kToken with top_logprobs
  std::vector<TokenProbability> top{};  ///< as above, falling
  std::string finish_reason{};          ///< kChoiceEnd: "stop", "length", "cancelled"
  std::string stop_string{};            ///< kChoiceEnd: the one that ended it, if one did
  Usage usage{};                        ///< kPrompt, kEnd
};

/// All of a reply. Of each choice `prompt_tokens` and `reused_tokens` say what `usage` says.
struct Completion {
  std::vector<Generation> choices;
  Usage usage;
};

/// What a request gets, as it comes; nothing of it is lost while nobody looks. It may outlive its engine,
/// which ends it. Moved from, it can only be assigned to or destroyed.
///
/// Threads: next() and wait() by one thread at a time; ready() and cancel() by any, at any time.
class Reply {
 public:
  Reply(Reply&&) noexcept;
  Reply& operator=(Reply&&) noexcept;
  /// As cancel(), if the request has not ended.
  ~Reply();

  /// Waits for the next event; nothing behind the last one. An error is that of the request, which has ended
  /// by it, and is given again by every further call.
  Result<std::optional<Event>> next();
  /// Whether next() would return at once.
  bool ready() const;
  /// Waits for the end and puts together what next() has not given yet.
  Result<Completion> wait();
  /// Ends the request within a step of the model and returns at once. Choices that are open end with
  /// "cancelled"; events still come, up to kEnd.
  void cancel();

 private:
  friend class Engine;
  struct State;
  explicit Reply(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Counters since the start, and what is there now.
struct EngineStats {
  uint64_t steps = 0;
  uint64_t requests_ended = 0;
  uint64_t requests_failed = 0;
  uint64_t requests_cancelled = 0;
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;  ///< of these, not computed again
  uint64_t generated_tokens = 0;
  int64_t running = 0;  ///< choices in the batch
  int64_t waiting = 0;  ///< requests that wait for their first step
  int64_t outside = 0;  ///< choices that gave way for a while for want of memory
  int64_t kept_prefixes = 0;
  uint64_t kv_budget_bytes = 0;  ///< 0: no limit
  uint64_t kv_live_bytes = 0;    ///< of running requests and kept beginnings, shared ones once
  uint64_t kv_shared_bytes = 0;  ///< what sharing saves
  bool healthy = true;           ///< false once the engine's thread has ended by a fault of its own
};

/// A loaded model and the thread that runs it for all requests together. Thread-safe. Results never depend on
/// which requests run at the same time, on threads or on what is kept.
class Engine {
 public:
  /// Maps and validates the files and starts the thread. Errors name the file, or the option, and what in it
  /// is wrong.
  static Result<Engine> load(const EngineOptions& options);
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  /// Cancels what runs and waits for the thread.
  ~Engine();

  /// Hands a request over and returns. kInvalidArgument names the member that is wrong; kExhausted when it
  /// could not fit alone, or, retryable, when too many wait; what a chat template raises.
  Result<Reply> submit(const Request& request);
  EngineStats stats() const;

  /// Longest prompt and answer together.
  int64_t context_tokens() const;
  /// Ids of a text, with the tokenizer's beginning- and end-of-text tokens.
  Result<std::vector<int32_t>> tokenize(std::string_view text) const;
  /// Text of ids, special tokens left out.
  Result<std::string> detokenize(const std::vector<int32_t>& ids) const;

 private:
  struct Core;
  explicit Engine(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
  friend class Reply;
};

}  // namespace kvern
