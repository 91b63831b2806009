// One value under one format: shared by % and str.format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/template/runtime.h"
#include "text/template/value.h"

namespace kvern::jinja {

struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  ///< '<', '>', '^', '=' or none.
  char sign = '-';    ///< '+', '-' or ' '.
  bool alternate = false;
  bool thousands = false;
  int width = 0;
  std::optional<int> precision;
  char type = '\0';
};

constexpr int kMaxFormatWidth = 100'000;
constexpr int kMaxFormatPrecision = 300;

/// An integer or float in the specification's type, without padding; sign included.
Result<std::string> format_number(const Value& value, const FormatSpec& spec);
/// Pads to the width (in code points); numbers go right and '=' pads behind the sign.
std::string pad(std::string text, const FormatSpec& spec, char default_align);

/// Reads decimal digits at `at` and moves it; fails beyond `most`. 0 if there are none.
Result<int> read_number(std::string_view text, size_t& at, int most);

}  // namespace kvern::jinja
