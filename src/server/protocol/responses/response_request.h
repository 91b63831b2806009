// A body of POST /v1/responses as something that can be run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "server/protocol/chat_plan.h"
#include "server/protocol/context.h"
#include "server/protocol/responses/response_store.h"

namespace kvern::server::responses {

inline constexpr FieldNames kFields{.prompt = "input", .max_new_tokens = "max_output_tokens"};
inline constexpr const char* kRoute = "/v1/responses";
inline constexpr const char* kPreviousField = "previous_response_id";

struct ResponseRequest : ChatPlan {
  /// The response as it is before anything was generated: its id, the fields that were asked for, in their
  /// documented order, and no output.
  json::object response;
  bool stream = false;
  bool store = true;
  bool logprobs = false;  ///< include: message.output_text.logprobs
  std::optional<int64_t> max_output_tokens;
  json::array input;          ///< the items of this request, complete
  Turns previous;             ///< the conversation that it goes on from
  uint64_t previous_run = 0;  ///< StoredResponse::run of its last response
  bool background = false;    ///< it goes on without its client
};

/// What reading needs beside the body. References outlive the call.
struct RequestSource {
  const ProtocolContext& context;
  ResponseStore& store;
  std::string client;  ///< whose stored responses it may go on from
};

/// Reads every field; renders and encodes the conversation. Errors name the field; kNotFound at
/// kPreviousField for a response that is not stored (any more).
Result<ResponseRequest> read_response_request(const json::value& body, const RequestSource& source);

/// The number of tokens of the prompt that the same body would make (POST /v1/responses/input_tokens).
Result<int64_t> read_input_tokens(const json::value& body, const RequestSource& source);

}  // namespace kvern::server::responses
