// What chat and text completions have in common: sampling, limits, streams, whose request it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "engine/request/generation_service.h"
#include "server/protocol/context.h"
#include "server/protocol/fields.h"

namespace kvern::server::openai {

/// How the answer is wanted. A plain value.
struct AnswerOptions {
  std::string id;
  std::string model;  ///< as answers say it
  std::string system_fingerprint;
  int64_t created = 0;  ///< seconds since 1970
  bool stream = false;
  bool include_usage = false;    ///< stream_options.include_usage
  bool prompt_progress = false;  ///< return_progress: chunks while the prompt is computed
  bool return_token_ids = false;
  /// Log-probabilities are wanted, with so many most likely tokens.
  std::optional<uint32_t> top_logprobs;
  uint64_t seed = 0;  ///< the one that was used
};

/// Reads `model`, sampling (OpenAI's defaults: temperature 1, top_p 1, nothing else filters), `seed`, `stop`,
/// `logit_bias`, `n`, `stream`, `stream_options`, `user` and the like, and the extensions. A seed that is
/// absent is drawn. Errors: kNotFound for another model's name.
Status read_generation_fields(ObjectReader& body, const ProtocolContext& context,
                              engine::ServiceRequest& request, AnswerOptions& answer);

/// Refuses what OpenAI documents for both APIs and this server does not do.
Status refuse_stored_and_paid(ObjectReader& body);

}  // namespace kvern::server::openai
