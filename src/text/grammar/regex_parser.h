// The regular expressions of JSON Schema's `pattern`: the part of ECMA-262's that describes regular
// languages.
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/grammar/expression.h"

namespace kvern::text::grammar {

/// The texts that contain a match: an expression of characters, sequences, choices and repetitions. ^ and $
/// may stand at the ends of the whole or of one of its alternatives. Errors (kInvalidArgument): the offset
/// and what is wrong, or not supported: lookaround, references back, \b, \p, anchors elsewhere.
Result<ExprId> parse_regex(std::string_view pattern, Rules& rules);

}  // namespace kvern::text::grammar
