#include "model/printable.h"

#include <fmt/format.h>

namespace kvern::model {

std::string printable(std::string_view text) {
  constexpr size_t kMaxBytes = 96;
  std::string out = "'";
  for (const char c : text.substr(0, kMaxBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 32 || byte > 126 || c == '\'' || c == '\\')
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  out += '\'';
  if (text.size() > kMaxBytes) out += "…";
  return out;
}

}  // namespace kvern::model
