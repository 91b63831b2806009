// A prompt: text, or token ids.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/request/request.h"
#include "server/protocol/context.h"

namespace kvern::server::openai {

/// The tokens of one prompt at a path: at least one. Text gets the model's beginning-of-text token; ids are
/// taken as they are, if the model has them. Text is encoded up to most_counted_tokens().
Result<std::vector<engine::TokenId>> read_prompt(const json::value& value, const std::string& path,
                                                 const ProtocolContext& context);

}  // namespace kvern::server::openai
