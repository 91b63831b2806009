#include "server/config/config_file.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.h"

namespace kvern::server {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._:/+-").find(c) != std::string_view::npos;
}

/// Reads one line.
class Line {
 public:
  Line(std::string_view text, std::string where) : text_(text), where_(std::move(where)) {}

  /// Nothing for a line without an entry.
  Result<std::optional<ConfigEntry>> read() {
    skip_spaces();
    if (at_end()) return std::nullopt;
    if (text_[at_] == '[') return wrong("there are no tables here: every key stands by itself");
    ConfigEntry entry;
    while (at_ < text_.size() && is_word(text_[at_])) {
      entry.key += text_[at_] == '_' ? '-' : text_[at_];
      ++at_;
    }
    if (entry.key.empty()) return wrong("expected 'key = value'");
    skip_spaces();
    if (!take('=')) return wrong("expected '=' behind '" + entry.key + "'");
    skip_spaces();
    if (take('[')) {
      KVERN_TRY(entry.values, read_array());
    } else {
      KVERN_TRY(std::string value, read_value());
      entry.values.push_back(std::move(value));
    }
    skip_spaces();
    if (!at_end()) return wrong("there is more behind the value");
    return entry;
  }

 private:
  Result<std::vector<std::string>> read_array() {
    std::vector<std::string> values;
    skip_spaces();
    while (!take(']')) {
      if (!values.empty()) {
        if (!take(',')) return wrong("expected ',' or ']' in the array");
        skip_spaces();
        if (take(']')) break;
      }
      KVERN_TRY(std::string value, read_value());
      values.push_back(std::move(value));
      skip_spaces();
    }
    return values;
  }

  Result<std::string> read_value() {
    if (take('"')) return read_string();
    if (take('\'')) {
      const size_t end = text_.find('\'', at_);
      if (end == std::string_view::npos) return wrong("the string does not end");
      std::string value(text_.substr(at_, end - at_));
      at_ = end + 1;
      return value;
    }
    std::string value;
    while (at_ < text_.size() && is_word(text_[at_])) value += text_[at_++];
    if (value.empty()) return wrong("a value is missing; put text into \"quotes\"");
    return value;
  }

  Result<std::string> read_string() {
    std::string value;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] != '\\') {
        value += text_[at_++];
        continue;
      }
      ++at_;
      KVERN_TRY_STATUS(read_escape(value));
    }
    if (!take('"')) return wrong("the string does not end");
    return value;
  }

  Status read_escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\nt";
    constexpr std::string_view kMeanings = "\"\\\n\t";
    if (at_ < text_.size() && text_[at_] == 'u') {
      uint32_t code = 0;
      const char* begin = text_.data() + at_ + 1;
      const char* end = begin + std::min<size_t>(4, text_.size() - at_ - 1);
      if (const auto [stop, error] = std::from_chars(begin, end, code, 16);
          error != std::errc{} || stop != begin + 4)
        return wrong("\\u needs four hexadecimal digits");
      append_utf8(out, code);
      at_ += 5;
      return Ok{};
    }
    const size_t which = at_ < text_.size() ? kLetters.find(text_[at_]) : std::string_view::npos;
    if (which == std::string_view::npos)
      return wrong("an unknown escape; there are \\\" \\\\ \\n \\t \\uXXXX");
    out += kMeanings[which];
    ++at_;
    return Ok{};
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  bool at_end() const { return at_ == text_.size() || text_[at_] == '#'; }
  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::unexpected<Error> wrong(std::string message) const {
    return fail(ErrorCode::kInvalidArgument, std::move(message), where_);
  }

  std::string_view text_;
  std::string where_;
  size_t at_ = 0;
};

}  // namespace

Result<std::vector<ConfigEntry>> parse_config(std::string_view text, const std::string& path) {
  std::vector<ConfigEntry> entries;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string where = fmt::format("{}:{}", path, number);
    KVERN_TRY(std::optional<ConfigEntry> entry, Line(text.substr(0, end), where).read());
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!entry) continue;
    entry->line = number;
    const auto same = std::ranges::find(entries, entry->key, &ConfigEntry::key);
    if (same != entries.end()) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' is there twice, first in line {}", entry->key, same->line), where);
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

}  // namespace kvern::server
