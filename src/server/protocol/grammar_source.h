// Where protocols get the grammars that answers must follow.
#pragma once

#include <memory>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "text/grammar/grammar.h"

namespace kvern::server {

/// Makes grammars for the served model, and keeps them. Thread-safe. Errors name the place in the grammar or
/// schema.
class GrammarSource {
 public:
  using Grammar = std::shared_ptr<const text::Grammar>;
  virtual ~GrammarSource() = default;
  virtual Result<Grammar> gbnf(std::string_view text) = 0;
  virtual Result<Grammar> json_schema(const json::value& schema) = 0;
  virtual Result<Grammar> json_object() = 0;
  virtual Result<Grammar> structure(const text::Structure& structure) = 0;
};

}  // namespace kvern::server
