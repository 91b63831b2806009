// Structures (structure.h) as rules.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "text/grammar/expression.h"
#include "text/grammar/structure.h"

namespace kvern::text::grammar {

/// The control token that is spelled so, if there is one.
using FindToken = std::function<std::optional<TokenId>(std::string_view spelling)>;

/// Adds the rules of a structure; returns the root. Errors (kInvalidArgument): no parts, fewer parts allowed
/// than needed, literals that are not UTF-8, a part without trigger beside free text; those of its schemas.
Result<RuleId> add_structure(const Structure& structure, const FindToken& token, Rules& rules);

}  // namespace kvern::text::grammar
