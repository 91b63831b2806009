// Text to token ids and back, over HTTP.
#pragma once

#include <cstddef>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "server/protocol/context.h"

namespace kvern::server::llama {

/// Body {content, add_special = false, parse_special = true, with_pieces = false} -> {"tokens": [...]}: ids,
/// or {"id", "piece"} where a piece is a string, or the list of its bytes if these are not UTF-8.
/// The answer as text: a tree of it would take a hundred times the memory. Text of more than kMostText bytes
/// is refused.
Result<std::string> tokenize(const json::value& body, const ProtocolContext& context);
inline constexpr size_t kMostText = size_t{1} << 20;

/// Body {tokens} -> {"content"}: special tokens as they are spelt. Errors name an id that does not exist.
Result<std::string> detokenize(const json::value& body, const ProtocolContext& context);

}  // namespace kvern::server::llama
