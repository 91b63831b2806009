// Counted things in messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kvern {

/// "1 token", "2 tokens"; `many` where another s does not make it.
inline std::string counted(int64_t count, std::string_view one, std::string_view many = {}) {
  std::string text = std::to_string(count) + " ";
  if (count == 1 || many.empty()) text += one;
  if (count == 1) return text;
  return many.empty() ? text + "s" : text + std::string(many);
}

}  // namespace kvern
