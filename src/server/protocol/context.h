// What the routes of every protocol are given.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "engine/chat/chat_format.h"
#include "engine/load/engine.h"
#include "engine/request/generation_service.h"
#include "server/http/exchange.h"
#include "server/protocol/executor.h"
#include "server/protocol/id_source.h"
#include "text/grammar/grammar_source.h"

namespace kvern::engine {
class SavedPrefixes;
}

namespace kvern::server {

class Runs;

/// What a client may ask for. Set by the operator.
struct ProtocolLimits {
  int64_t max_rows = 64;      ///< that run at a time: what llama-server calls slots
  int32_t max_choices = 128;  ///< of one request: prompts times n (or best_of)
  uint32_t max_top_logprobs = 20;
  /// New tokens of one choice; a request that names more is refused. 0: as many as the context takes.
  int64_t max_new_tokens = 0;
  size_t max_stop_strings = 16;
  size_t max_logit_biases = 1024;
  size_t max_tools = 128;
  size_t max_json_depth = 64;
  /// A generation that has not ended so long after its request came fails; zero = no limit.
  std::chrono::milliseconds request_timeout{0};
  /// Between comments in a stream that has nothing else to send.
  std::chrono::milliseconds ping_after{4000};
  /// For how long a stream goes on without a reader, and can be come back to; zero = it ends with its
  /// connection.
  std::chrono::milliseconds reconnect_for{0};
  size_t max_import_bytes = size_t{1} << 30;  ///< of a file of saved prefixes that is sent here
  /// Such files that are sent to clients at a time: each has a thread that waits for its client.
  size_t max_exports = 8;
  // Answers of /v1/responses that are kept for later requests: so many, so many bytes, so long.
  size_t max_stored_responses = 1000;
  size_t max_stored_bytes = size_t{64} << 20;
  std::chrono::milliseconds stored_for{std::chrono::hours(24)};
  /// For /v1/kv/flush to save what is kept.
  std::chrono::milliseconds flush_timeout{30'000};
};

/// Made once when the model is loaded, immutable then, shared by all handlers; outlives them. Thread-safe, as
/// what it refers to: of the engine only the tokenizer, the template and facts of the model, since the loop
/// drives the rest.
struct ProtocolContext {
  engine::GenerationService& service;
  const engine::Engine& engine;
  const Clock& clock;
  LogSink& log;
  /// Where events are made into answers, so that the loop's thread only hands them over.
  Executor& executor;
  IdSource& ids;
  /// How this model is talked to (engine::ChatFormat::create), or why it cannot chat.
  Result<std::shared_ptr<const engine::ChatFormat>> chat;
  /// Prefixes in a directory; null when they are not saved.
  engine::SavedPrefixes* saved = nullptr;
  /// For structured output; null when there is none (the model has no tokenizer).
  text::GrammarSource* grammars = nullptr;
  std::string model_name;            ///< as clients say it, and as answers do
  std::vector<std::string> aliases;  ///< further names that clients may say
  /// Another one whenever the same request might get another answer: of build and model.
  std::string system_fingerprint;
  int64_t created = 0;  ///< when the model was loaded, in seconds since 1970
  ProtocolLimits limits;
  bool log_prompts = false;  ///< texts of users may be logged
  /// Generations that do not belong to a connection; null where there are none (batches).
  Runs* runs = nullptr;

  /// Whether clients may say this name.
  bool serves(std::string_view name) const;

  /// The namespace of kept and saved prefixes that a request with this salt has.
  static std::string name_space(const HttpRequest& request, const std::string& salt);

  /// Submits a generation on behalf of an HTTP request: the one way for all protocols. Sets whose it is
  /// (fairness: the key's name and the user in `client`; namespace of kept prefixes: the key's name and what
  /// `cache_namespace` held, so that no client
  /// can name another's), its deadline unless it has one, counts its tokens in the request's usage, and
  /// cancels it when the client goes.
  Result<engine::Ticket> submit(Exchange& exchange, engine::ServiceRequest request,
                                std::shared_ptr<engine::GenerationSink> sink) const;
};

}  // namespace kvern::server
