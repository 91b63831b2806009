// What the parts of a tokenizer share about tokens.
#pragma once

#include <cstdint>

namespace kvern::text {

/// A row of the model's embedding. Never negative where it names a token.
using TokenId = int32_t;

/// No vocabulary may have ids from here on: what a file can make us allocate stays bounded.
inline constexpr TokenId kMaxTokenId = 1 << 24;

}  // namespace kvern::text
