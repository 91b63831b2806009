// Parses a template into its tree. Grammar: Jinja's documentation, "Template Designer Documentation".
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "text/template/ast.h"

namespace kvern::jinja {

struct ParseLimits {
  size_t max_source_bytes = size_t{1} << 20;
  uint32_t max_depth = 200;  ///< Nesting of expressions, brackets and statements.
};

/// Errors name the template, line and column: kCorrupt for wrong syntax, kUnsupported for tags of Jinja that
/// chat templates have no use for (include, import, extends, block, recursive loops), kExhausted for limits.
Result<TemplateTree> parse_template(std::string_view source, std::string_view name,
                                    const ParseLimits& limits = {});

}  // namespace kvern::jinja
