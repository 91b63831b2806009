#include "text/replacement.h"

namespace kvern::text {

std::vector<Range> Pattern::find_all(std::string_view text) const {
  if (regex) return regex->find_all(text);
  std::vector<Range> matches;
  if (literal.empty()) return matches;
  for (size_t at = text.find(literal); at != std::string_view::npos;
       at = text.find(literal, at + literal.size()))
    matches.push_back({at, at + literal.size()});
  return matches;
}

std::string Replacement::apply(std::string_view text) const {
  std::string out;
  out.reserve(text.size());
  size_t done = 0;
  for (const Range match : pattern.find_all(text)) {
    out += text.substr(done, match.begin - done);
    out += content;
    done = match.end;
  }
  out += text.substr(done);
  return out;
}

}  // namespace kvern::text
