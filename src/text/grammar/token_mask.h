// Sets of tokens, as grammars say what may come and samplers obey.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/token.h"

namespace kvern::text {

/// Which tokens may come next: bit i % 64 of word i / 64 is token i.
using TokenMask = std::vector<uint64_t>;

/// False also for tokens beyond the end of the mask.
inline bool allows(const TokenMask& mask, TokenId token) {
  const auto id = static_cast<size_t>(token);
  return token >= 0 && id / 64 < mask.size() && (mask[id / 64] >> (id % 64) & 1U) != 0;
}

}  // namespace kvern::text
