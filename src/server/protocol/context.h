// What the routes of every protocol are given.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "engine/load/engine.h"
#include "engine/request/generation_service.h"
#include "server/http/exchange.h"

namespace kvern::text {
class GrammarVocabulary;
}

namespace kvern::server {

/// What a client may ask for. Set by the operator.
struct ProtocolLimits {
  int32_t max_choices = 128;  ///< of one request (n, best_of)
  uint32_t max_top_logprobs = 20;
  /// A generation that has not ended so long after its request came fails; zero = no limit.
  std::chrono::milliseconds request_timeout{0};
  /// Between comments in a stream that has nothing else to send.
  std::chrono::milliseconds ping_after{4000};
};

/// Made once when the model is loaded, immutable then, shared by all handlers; outlives them. Thread-safe, as
/// what it refers to: of the engine only the tokenizer, the template and facts of the model, since the loop
/// drives the rest.
struct ProtocolContext {
  engine::GenerationService& service;
  const engine::Engine& engine;
  const Clock& clock;
  LogSink& log;
  std::string model_name;  ///< as clients say it
  int64_t created = 0;     ///< when the model was loaded, in seconds since 1970
  /// For structured output; null when the model has no tokenizer.
  std::shared_ptr<const text::GrammarVocabulary> grammar_vocabulary;
  ProtocolLimits limits;
  bool log_prompts = false;  ///< texts of users may be logged

  /// Submits a generation on behalf of an HTTP request: the one way for all protocols. Sets whose it is
  /// (fairness, namespace of kept prefixes: the key's name and what `cache_namespace` held, so that no client
  /// can name another's), its deadline unless it has one, counts its tokens in the request's usage, and
  /// cancels it when the client goes.
  Result<engine::Ticket> submit(Exchange& exchange, engine::ServiceRequest request,
                                std::shared_ptr<engine::GenerationSink> sink) const;
};

}  // namespace kvern::server
