// Where in a template something stands, and errors that say so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvern::jinja {

/// 1-based line and column (in bytes) within the template.
struct SourcePosition {
  uint32_t line = 1;
  uint32_t column = 1;
};

/// "name:line:column".
inline std::string describe(std::string_view template_name, SourcePosition position) {
  return std::string(template_name) + ":" + std::to_string(position.line) + ":" +
         std::to_string(position.column);
}

}  // namespace kvern::jinja
