// Members that bodies of several APIs have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/chat/chat_format.h"
#include "engine/chat/chat_prompt.h"
#include "engine/request/generation_service.h"
#include "server/protocol/context.h"
#include "server/protocol/fields.h"

namespace kvern::server {

/// The body of a request, parsed within the limits.
Result<json::value> parse_body(const ProtocolContext& context, const Exchange& exchange);

/// `model`: may be absent, since there is nothing to choose; kNotFound for a name that is not served.
Status read_model(ObjectReader& body, const ProtocolContext& context);

/// The largest number of new tokens that a request may name.
int64_t max_new_tokens(const ProtocolContext& context);

/// Stop strings, none of them empty, not too many.
Result<std::vector<std::string>> read_stop_list(const json::array& array, const std::string& path,
                                                const ProtocolContext& context);
/// kInvalidArgument at `path` when there are stop strings and the model has no text to find them in.
Status check_stops(const std::vector<std::string>& stops, const std::string& path,
                   const ProtocolContext& context);

/// `user`, `safety_identifier`, `prompt_cache_key`, and the extensions `cache_salt` and `cache_prompt`.
Status read_client_fields(ObjectReader& body, engine::ServiceRequest& request);

/// How much the model is to think, as far as its template has a setting for it; else kUnsupported at `path`.
/// "none" is also what templates call enable_thinking = false, and what a model that never thinks does.
Status set_reasoning_effort(const std::string& effort, const std::string& path,
                            const engine::ChatFormat& format, engine::ChatOptions& options);

}  // namespace kvern::server
