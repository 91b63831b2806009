// Text to token ids and back, over HTTP.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "server/protocol/context.h"

namespace kvern::server::llama {

/// Body {content, add_special = false, parse_special = true, with_pieces = false} -> {"tokens": [...]}: ids,
/// or {"id", "piece"} where a piece is a string, or the list of its bytes if these are not UTF-8.
Result<json::object> tokenize(const json::value& body, const ProtocolContext& context);

/// Body {tokens} -> {"content"}: special tokens as they are spelt. Errors name an id that does not exist.
Result<json::object> detokenize(const json::value& body, const ProtocolContext& context);

}  // namespace kvern::server::llama
