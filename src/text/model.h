// Turning one piece of text into tokens: the `model` of a tokenizer.
#pragma once

#include <string_view>
#include <vector>

#include "text/token.h"

namespace kvern::text {

/// Immutable, thread-safe.
class Model {
 public:
  virtual ~Model() = default;
  /// Appends the tokens of `piece`: not empty, valid UTF-8 or (when takes_escaped_bytes()) with escaped
  /// bytes.
  virtual void encode(std::string_view piece, std::vector<TokenId>& out) const = 0;
  /// True when the vocabulary has a token for each of the 256 bytes, so that bytes that are not UTF-8 can be
  /// encoded.
  virtual bool takes_escaped_bytes() const = 0;
};

}  // namespace kvern::text
