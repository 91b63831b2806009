// JSON Schema as rules. docs/structured-output.md has the keywords.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "text/grammar/expression.h"

namespace kvern::text::grammar {

/// Adds the rules of the values that are valid under `schema`; returns the one to begin with, called `name`.
/// Errors (kInvalidArgument): the place as a JSON pointer with the keyword, and what is wrong.
Result<RuleId> add_schema(const json::value& schema, std::string name, Rules& rules);

}  // namespace kvern::text::grammar
