// A body of POST /v1/completions as something that can be run.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/request/generation_service.h"
#include "server/protocol/context.h"
#include "server/protocol/openai/generation_fields.h"

namespace kvern::server::openai {

struct CompletionRequest {
  /// One for each prompt, in order. Choice c of part p is choice p * n + c of the answer.
  std::vector<engine::ServiceRequest> parts;
  int32_t n = 1;  ///< choices of a prompt that are given out
  AnswerOptions answer;
  bool echo = false;
  std::vector<std::string> prompts;  ///< with echo: the text of each
};

/// Reads every field and encodes the prompts. Errors name the field (`where`). Special tokens' literals in a
/// prompt are these tokens: who completes plain text writes the whole prompt.
Result<CompletionRequest> read_completion_request(const json::value& body, const ProtocolContext& context);

}  // namespace kvern::server::openai
