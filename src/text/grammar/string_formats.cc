#include "text/grammar/string_formats.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kvern::text::grammar {
namespace {

// RFC 3339, 4122, 2673, 4291 (no ::), 5321 (unquoted), 1123, 3986 (scheme, then characters of a URI).
constexpr std::string_view kDate =
    "[0-9]{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-"
    "31)";
constexpr std::string_view kTime =
    "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
constexpr std::string_view kByte = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
constexpr std::string_view kLabel = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
constexpr std::string_view kAtom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,16}";

std::string make(std::string_view format) {
  if (format == "date") return std::string(kDate);
  if (format == "time") return std::string(kTime);
  if (format == "date-time") return fmt::format("{}T{}", kDate, kTime);
  if (format == "uuid") return "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";
  if (format == "ipv4") return fmt::format("{0}\\.{0}\\.{0}\\.{0}", kByte);
  if (format == "ipv6") return "(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}";
  if (format == "hostname") return fmt::format("{0}(?:\\.{0}){{0,3}}", kLabel);
  if (format == "email")
    return fmt::format("{0}(?:\\.{0}){{0,3}}@{1}(?:\\.{1}){{1,3}}", kAtom,
                       "[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?");
  if (format == "uri") return "[A-Za-z][A-Za-z0-9+.-]{0,15}://[A-Za-z0-9._~/?@!$&'()*+,;=:-]{1,1024}";
  return {};
}

constexpr std::array<std::string_view, 9> kFormats{"date", "time",     "date-time", "uuid", "ipv4",
                                                   "ipv6", "hostname", "email",     "uri"};

}  // namespace

std::optional<std::string> pattern_of_format(std::string_view format) {
  const std::string body = make(format);
  if (body.empty()) return std::nullopt;
  return fmt::format("^(?:{})$", body);
}

std::string known_formats() { return fmt::format("{}", fmt::join(kFormats, ", ")); }

}  // namespace kvern::text::grammar
