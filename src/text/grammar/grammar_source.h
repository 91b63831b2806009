// Where requests get the grammars that their texts must follow.
#pragma once

#include <memory>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "text/grammar/grammar.h"

namespace kvern::text {

/// Makes grammars for one vocabulary. Thread-safe. Errors name the place in the grammar or schema.
class GrammarSource {
 public:
  using Made = Result<std::shared_ptr<const Grammar>>;
  virtual ~GrammarSource() = default;
  virtual Made gbnf(std::string_view text) = 0;
  virtual Made json_schema(const json::value& schema) = 0;
  virtual Made json_object() = 0;
  virtual Made structure(const Structure& structure) = 0;
};

}  // namespace kvern::text
