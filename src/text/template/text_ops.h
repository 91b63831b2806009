// Operations on text that filters and methods share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/template/runtime.h"
#include "text/template/value.h"

namespace kvern::jinja {

/// Offset of the first or last occurrence of `needle`, npos if there is none. Linear time for every input,
/// which std::string_view::find does not promise.
size_t find_text(std::string_view text, std::string_view needle, size_t from = 0);
size_t rfind_text(std::string_view text, std::string_view needle);

struct Replacement {
  std::string_view from;
  std::string_view to;
  int64_t count = -1;  ///< How many at most; negative: all.
};
/// str.replace: an empty `from` matches between all code points.
Result<Value> replace_text(Runtime& runtime, std::string_view text, const Replacement& replacement);

enum class KeepEnds : uint8_t { kNo, kYes };
/// str.splitlines: \n, \r, \r\n, \v, \f, 0x1c to 0x1e, U+0085, U+2028, U+2029 end lines. Views into `text`.
std::vector<std::string_view> split_lines(std::string_view text, KeepEnds keep);

}  // namespace kvern::jinja
