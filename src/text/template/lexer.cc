// Tokens of a template.
//
// The scanner alternates between text and tags. Text is cut where a tag begins; the tag's own sign (`-`, `+`)
// and the two block options decide what white space around it is dropped.
#include "text/template/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

/// Longest first, so that `**` is not read as `*`.
constexpr std::array<std::string_view, 25> kOperators = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                         "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                         ">",  "<",  "=",  ".",  ":",  "|",  ","};

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

std::string normalize_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (out.ends_with('\n')) out.pop_back();  // keep_trailing_newline is off
  return out;
}

class Scanner {
 public:
  Scanner(std::string_view source, std::string_view name)
      : source_(normalize_newlines(source)), name_(name) {}
  Result<std::vector<Token>> scan();

 private:
  enum class Tag : uint8_t { kPrint, kBlock, kComment };

  SourcePosition position_of(size_t offset);
  std::unexpected<Error> error(size_t offset, std::string message) {
    return fail(ErrorCode::kCorrupt, std::move(message), describe(name_, position_of(offset)));
  }
  Token& emit(TokenKind kind, size_t offset);
  void emit_text(std::string_view text, size_t offset);

  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  size_t skip_spaces(size_t offset) const;
  size_t find_tag(size_t from) const;
  std::string_view text_before_tag(size_t begin, size_t tag, Tag kind) const;
  void finish_tag(size_t end, bool strip_after, bool trim_newline);

  Status scan_comment(size_t tag);
  Result<bool> scan_raw(size_t tag);
  Status scan_tag(size_t tag, Tag kind);
  std::optional<size_t> match_tag_end(Tag kind, bool& strip_after, bool& trim_newline) const;
  Status scan_token();
  Status scan_number();
  Status scan_string();
  Status scan_operator();

  std::string source_;
  std::string_view name_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  bool line_starting_ = true;  ///< What was read last ended a line.
  std::string open_brackets_;  ///< Closers that the tag still needs; tags end only when none is left.
  size_t counted_offset_ = 0;  ///< Positions are counted forward from here.
  SourcePosition counted_;
};

SourcePosition Scanner::position_of(size_t offset) {
  if (offset < counted_offset_) {
    counted_offset_ = 0;
    counted_ = {};
  }
  for (; counted_offset_ < offset; ++counted_offset_) {
    if (source_[counted_offset_] == '\n') {
      ++counted_.line;
      counted_.column = 1;
    } else {
      ++counted_.column;
    }
  }
  return counted_;
}

Token& Scanner::emit(TokenKind kind, size_t offset) {
  Token token;
  token.kind = kind;
  token.position = position_of(offset);
  return tokens_.emplace_back(std::move(token));
}

void Scanner::emit_text(std::string_view text, size_t offset) {
  if (!text.empty()) emit(TokenKind::kText, offset).text = std::string(text);
}

size_t Scanner::skip_spaces(size_t offset) const {
  while (offset < source_.size()) {
    const CodePoint point = decode_at(source_, offset);
    if (!is_space(point.value)) break;
    offset += point.bytes;
  }
  return offset;
}

size_t Scanner::find_tag(size_t from) const {
  for (size_t i = source_.find('{', from); i != std::string::npos; i = source_.find('{', i + 1)) {
    if (i + 1 < source_.size() && (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#'))
      return i;
  }
  return std::string::npos;
}

/// The text from `begin` up to a tag, without what the tag's sign or lstrip_blocks drops.
std::string_view Scanner::text_before_tag(size_t begin, size_t tag, Tag kind) const {
  const std::string_view text = std::string_view(source_).substr(begin, tag - begin);
  const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
  if (sign == '-') return strip(text, Side::kRight);
  if (sign == '+' || kind == Tag::kPrint) return text;
  const size_t newline = text.rfind('\n');
  const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
  if (line == 0 && !line_starting_) return text;
  return strip(text.substr(line), Side::kRight).empty() ? text.substr(0, line) : text;
}

/// Goes on behind a tag: `-` drops all white space, trim_blocks drops one newline.
void Scanner::finish_tag(size_t end, bool strip_after, bool trim_newline) {
  at_ = end;
  if (strip_after) {
    at_ = skip_spaces(at_);
  } else if (trim_newline && at_ < source_.size() && source_[at_] == '\n') {
    ++at_;
  }
  line_starting_ = source_[at_ - 1] == '\n';
}

Status Scanner::scan_comment(size_t tag) {
  size_t begin = tag + 2;
  if (begin < source_.size() && (source_[begin] == '-' || source_[begin] == '+')) ++begin;
  const size_t close = source_.find("#}", begin);
  if (close == std::string::npos) return error(tag, "Missing end of comment tag");
  const char sign = close > begin ? source_[close - 1] : '\0';
  finish_tag(close + 2, sign == '-', sign != '+' && sign != '-');
  return Ok{};
}

/// Reads a raw block if the tag begins one; false (and nothing read) if not.
Result<bool> Scanner::scan_raw(size_t tag) {
  const std::string_view all = source_;
  const auto sign_at = [&](size_t i) { return i < all.size() && (all[i] == '-' || all[i] == '+'); };
  size_t i = tag + 2;
  if (sign_at(i)) ++i;
  i = skip_spaces(i);
  if (all.substr(i, 3) != "raw") return false;
  i = skip_spaces(i + 3);
  const bool strip_start = all.substr(i, 3) == "-%}";
  if (!strip_start && all.substr(i, 2) != "%}") return false;
  size_t content = i + (strip_start ? 3 : 2);
  if (strip_start) content = skip_spaces(content);

  for (size_t close = all.find("{%", content); close != std::string_view::npos;
       close = all.find("{%", close + 1)) {
    size_t j = close + 2;
    if (sign_at(j)) ++j;
    j = skip_spaces(j);
    if (all.substr(j, 6) != "endraw") continue;
    j = skip_spaces(j + 6);
    const char end_sign = sign_at(j) ? all[j] : '\0';
    if (end_sign != '\0') ++j;
    if (all.substr(j, 2) != "%}") continue;
    line_starting_ = all[content - 1] == '\n';
    emit_text(text_before_tag(content, close, Tag::kBlock), content);
    finish_tag(j + 2, end_sign == '-', end_sign == '\0');
    return true;
  }
  return error(tag, "Missing end of raw directive");
}

std::optional<size_t> Scanner::match_tag_end(Tag kind, bool& strip_after, bool& trim_newline) const {
  if (!open_brackets_.empty()) return std::nullopt;
  const std::string_view close = kind == Tag::kPrint ? "}}" : "%}";
  const std::string_view here = rest();
  if (here.starts_with(close)) {
    trim_newline = kind == Tag::kBlock;
    return at_ + 2;
  }
  if (here.empty() || here.substr(1, 2) != close) return std::nullopt;
  if (here[0] == '-') {
    strip_after = true;
    return at_ + 3;
  }
  if (here[0] == '+' && kind == Tag::kBlock) return at_ + 3;
  return std::nullopt;
}

Status Scanner::scan_tag(size_t tag, Tag kind) {
  emit(kind == Tag::kPrint ? TokenKind::kPrintBegin : TokenKind::kBlockBegin, tag);
  at_ = tag + 2;
  if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) ++at_;
  open_brackets_.clear();
  while (true) {
    at_ = skip_spaces(at_);
    if (at_ >= source_.size()) return error(tag, "the template ends inside this tag");
    bool strip_after = false;
    bool trim_newline = false;
    if (const auto end = match_tag_end(kind, strip_after, trim_newline)) {
      emit(kind == Tag::kPrint ? TokenKind::kPrintEnd : TokenKind::kBlockEnd, at_);
      finish_tag(*end, strip_after, trim_newline);
      return Ok{};
    }
    KVERN_TRY_STATUS(scan_token());
  }
}

Status Scanner::scan_token() {
  const char c = source_[at_];
  if (is_ascii_digit(c)) return scan_number();
  if (c == '"' || c == '\'') return scan_string();
  if (!starts_name(c)) return scan_operator();
  size_t end = at_;
  while (end < source_.size() && (starts_name(source_[end]) || is_ascii_digit(source_[end]))) ++end;
  emit(TokenKind::kName, at_).text = source_.substr(at_, end - at_);
  at_ = end;
  return Ok{};
}

bool in_base(char c, int base) {
  if (base <= 10) return c >= '0' && c < '0' + base;
  return is_ascii_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// Reads digits with single underscores between them; appends the digits, returns the end.
size_t read_digits(std::string_view text, size_t at, int base, std::string& digits) {
  while (at < text.size()) {
    const bool underscore =
        text[at] == '_' && !digits.empty() && at + 1 < text.size() && in_base(text[at + 1], base);
    if (!underscore && !in_base(text[at], base)) break;
    if (!underscore) digits += text[at];
    ++at;
  }
  return at;
}

Status Scanner::scan_number() {
  const std::string_view text = source_;
  const size_t start = at_;
  int base = 10;
  if (text[at_] == '0' && at_ + 2 < text.size()) {
    const char mark = static_cast<char>(text[at_ + 1] | 0x20);
    base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    if (base != 10 && !in_base(text[at_ + 2], base)) base = 10;
  }
  std::string digits;
  size_t end = read_digits(text, base == 10 ? start : start + 2, base, digits);
  const bool after_dot = start > 0 && text[start - 1] == '.';
  bool is_float = false;
  if (base == 10 && !after_dot) {
    const size_t whole = end;
    if (end + 1 < text.size() && text[end] == '.' && is_ascii_digit(text[end + 1])) {
      digits += '.';
      end = read_digits(text, end + 1, 10, digits);
      is_float = true;
    }
    size_t exponent = end + 1;
    if (end < text.size() && (text[end] | 0x20) == 'e') {
      const bool sign = exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-');
      if (sign) ++exponent;
      if (exponent < text.size() && is_ascii_digit(text[exponent])) {
        digits += 'e';
        if (sign && text[exponent - 1] == '-') digits += '-';
        end = read_digits(text, exponent, 10, digits);
        is_float = true;
      }
    }
    if (!is_float) end = whole;
  }
  Token& token = emit(is_float ? TokenKind::kFloat : TokenKind::kInteger, start);
  const char* last = digits.data() + digits.size();
  const auto parsed = is_float ? std::from_chars(digits.data(), last, token.number)
                               : std::from_chars(digits.data(), last, token.integer, base);
  if (parsed.ec != std::errc{} || parsed.ptr != last) return error(start, "number out of range");
  at_ = end;
  return Ok{};
}

Status Scanner::scan_string() {
  const char quote = source_[at_];
  size_t end = at_ + 1;
  while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
  if (end >= source_.size()) return error(at_, "a string is not closed");
  auto content = unescape(std::string_view(source_).substr(at_ + 1, end - at_ - 1));
  if (!content) return error(at_, content.error().message);
  emit(TokenKind::kString, at_).text = *std::move(content);
  at_ = end + 1;
  return Ok{};
}

Status Scanner::scan_operator() {
  const std::string_view here = rest();
  const auto* found =
      std::ranges::find_if(kOperators, [&](std::string_view op) { return here.starts_with(op); });
  if (found == kOperators.end()) {
    return error(at_, "unexpected char '" + std::string(here.substr(0, decode_at(here, 0).bytes)) + "'");
  }
  const std::string_view op = *found;
  if (op == "(") open_brackets_ += ')';
  if (op == "[") open_brackets_ += ']';
  if (op == "{") open_brackets_ += '}';
  if (op == ")" || op == "]" || op == "}") {
    if (open_brackets_.empty()) return error(at_, "unexpected '" + std::string(op) + "'");
    if (open_brackets_.back() != op[0]) {
      return error(at_, "unexpected '" + std::string(op) + "', expected '" + open_brackets_.back() + "'");
    }
    open_brackets_.pop_back();
  }
  emit(TokenKind::kOperator, at_).text = std::string(op);
  at_ += op.size();
  return Ok{};
}

Result<std::vector<Token>> Scanner::scan() {
  while (at_ < source_.size()) {
    const size_t tag = find_tag(at_);
    if (tag == std::string::npos) {
      emit_text(rest(), at_);
      at_ = source_.size();
      break;
    }
    const char mark = source_[tag + 1];
    const Tag kind = mark == '{' ? Tag::kPrint : mark == '%' ? Tag::kBlock : Tag::kComment;
    emit_text(text_before_tag(at_, tag, kind), at_);
    if (kind == Tag::kComment) {
      KVERN_TRY_STATUS(scan_comment(tag));
      continue;
    }
    if (kind == Tag::kBlock) {
      KVERN_TRY(const bool raw, scan_raw(tag));
      if (raw) continue;
    }
    KVERN_TRY_STATUS(scan_tag(tag, kind));
  }
  emit(TokenKind::kEnd, source_.size());
  return std::move(tokens_);
}

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source, std::string_view template_name) {
  return Scanner(source, template_name).scan();
}

}  // namespace kvern::jinja
