#include "text/grammar/regex_parser.h"

#include <optional>

#include <fmt/format.h>

#include "text/grammar/char_set.h"

namespace kvern::text::grammar {
namespace {

constexpr size_t kMaxBytes = 16'384;
constexpr uint32_t kMaxDepth = 64;
constexpr uint32_t kMaxTimes = 10'000;

CharSet digits() { return CharSet({{'0', '9'}}); }
CharSet word_chars() { return CharSet({{'0', '9'}, {'A', 'Z'}, {'a', 'z'}, {'_', '_'}}); }
/// White space and line ends of ECMA-262.
CharSet spaces() {
  return CharSet({{0x09, 0x0D},
                  {0x20, 0x20},
                  {0xA0, 0xA0},
                  {0x1680, 0x1680},
                  {0x2000, 0x200A},
                  {0x2028, 0x2029},
                  {0x202F, 0x202F},
                  {0x205F, 0x205F},
                  {0x3000, 0x3000},
                  {0xFEFF, 0xFEFF}});
}
CharSet line_ends() { return CharSet({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}); }

class Parser {
 public:
  Parser(std::string_view text, Rules& rules) : text_(text), rules_(rules) {}

  Result<ExprId> parse() {
    std::vector<ExprId> alternatives;
    do {
      KVERN_TRY(const ExprId alternative, top_alternative());
      alternatives.push_back(alternative);
    } while (take('|'));
    if (!at_end()) return error("there is no ( for this )");
    return rules_.choice(std::move(alternatives));
  }

 private:
  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::unexpected<Error> error(std::string_view message) const {
    return fail(ErrorCode::kInvalidArgument, fmt::format("at offset {} of the pattern: {}", at_, message));
  }

  /// What is not anchored may have anything before and behind it.
  Result<ExprId> top_alternative() {
    const ExprId anything = rules_.repeat(rules_.chars(CharSet::all()), {});
    std::vector<ExprId> parts;
    if (!take('^')) parts.push_back(anything);
    KVERN_TRY(const ExprId body, sequence());
    parts.push_back(body);
    if (!take('$')) parts.push_back(anything);
    if (peek() == '$' || peek() == '^') return error("^ and $ are supported at the ends of the pattern only");
    return rules_.sequence(std::move(parts));
  }

  Result<ExprId> sequence() {
    std::vector<ExprId> parts;
    while (!at_end() && peek() != '|' && peek() != ')' && peek() != '$') {
      KVERN_TRY(ExprId part, atom());
      KVERN_TRY(part, repeated(part));
      parts.push_back(part);
    }
    if (parts.empty()) return rules_.empty();
    return rules_.sequence(std::move(parts));
  }

  Result<ExprId> atom() {
    if (take('(')) return group();
    if (take('[')) return char_class();
    if (take('.')) return rules_.chars(line_ends().complement());
    if (take('\\')) {
      KVERN_TRY(CharSet set, escape(false));
      return rules_.chars(std::move(set));
    }
    if (peek() == '^') return error("^ and $ are supported at the ends of the pattern only");
    if (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{')
      return error("there is nothing to repeat");
    KVERN_TRY(const char32_t c, plain());
    return rules_.chars(CharSet::of(c));
  }

  Result<char32_t> plain() {
    const DecodedChar c = decode_utf8(text_.substr(at_));
    if (c.length == 0) return error("it is not UTF-8");
    at_ += c.length;
    return c.value;
  }

  Result<ExprId> group() {
    if (++depth_ > kMaxDepth) return error(fmt::format("groups are nested more than {} deep", kMaxDepth));
    if (take("?:")) {
    } else if (take("?<") && peek() != '=' && peek() != '!') {
      const size_t end = text_.find('>', at_);
      if (end == std::string_view::npos) return error("expected > at the end of the group's name");
      at_ = end + 1;
    } else if (peek() == '?' || (at_ > 0 && text_[at_ - 1] == '<')) {
      return error("lookahead and lookbehind are not supported");
    }
    std::vector<ExprId> alternatives;
    do {
      KVERN_TRY(const ExprId alternative, sequence());
      alternatives.push_back(alternative);
    } while (take('|'));
    if (peek() == '$') return error("^ and $ are supported at the ends of the pattern only");
    if (!take(')')) return error("expected )");
    --depth_;
    return rules_.choice(std::move(alternatives));
  }

  /// Behind a backslash: one character, or a class.
  Result<CharSet> escape(bool in_class) {
    if (at_end()) return error("expected an escape behind the backslash");
    const char kind = text_[at_];
    switch (kind) {
      case 'd':
        ++at_;
        return digits();
      case 'D':
        ++at_;
        return digits().complement();
      case 'w':
        ++at_;
        return word_chars();
      case 'W':
        ++at_;
        return word_chars().complement();
      case 's':
        ++at_;
        return spaces();
      case 'S':
        ++at_;
        return spaces().complement();
      case 'x':
        ++at_;
        return hex(2);
      case 'u':
        ++at_;
        return unicode();
      case 'c':
        ++at_;
        return control();
      case 'b':
        if (in_class) return ++at_, CharSet::of('\b');
        [[fallthrough]];
      case 'B':
        return error("\\b and \\B are not supported");
      case 'p':
      case 'P':
        return error("\\p and \\P are not supported");
      case 'k':
        return error("references back are not supported");
      default:
        return letter(kind);
    }
  }

  Result<CharSet> letter(char kind) {
    constexpr std::string_view kLetters = "tnvfr0";
    constexpr std::string_view kMeanings{"\t\n\v\f\r\0", 6};
    if (const size_t found = kLetters.find(kind); found != std::string_view::npos) {
      ++at_;
      if (kind == '0' && peek() >= '0' && peek() <= '9') return error("octal escapes are not supported");
      return CharSet::of(static_cast<char32_t>(kMeanings[found]));
    }
    if (kind >= '1' && kind <= '9') return error("references back are not supported");
    if ((kind >= 'a' && kind <= 'z') || (kind >= 'A' && kind <= 'Z')) return error("unknown escape");
    KVERN_TRY(const char32_t c, plain());
    return CharSet::of(c);
  }

  Result<uint32_t> hex_value(uint32_t digits) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < digits; ++i, ++at_) {
      const char c = peek();
      if (c >= '0' && c <= '9')
        value = value * 16 + static_cast<uint32_t>(c - '0');
      else if (c >= 'a' && c <= 'f')
        value = value * 16 + static_cast<uint32_t>(c - 'a' + 10);
      else if (c >= 'A' && c <= 'F')
        value = value * 16 + static_cast<uint32_t>(c - 'A' + 10);
      else
        return error(fmt::format("expected {} hexadecimal digits", digits));
    }
    return value;
  }
  Result<CharSet> hex(uint32_t digits) {
    KVERN_TRY(const uint32_t value, hex_value(digits));
    return CharSet::of(value);
  }

  /// \u0061, a pair of surrogates, or \u{1F600}.
  Result<CharSet> unicode() {
    uint32_t value = 0;
    if (take('{')) {
      uint32_t count = 0;
      for (; peek() != '}'; ++count) {
        KVERN_TRY(const uint32_t digit, hex_value(1));
        value = value * 16 + digit;
        if (value > kMaxCodePoint) return error("that is not a character");
      }
      ++at_;
      if (count == 0) return error("expected hexadecimal digits");
    } else {
      KVERN_TRY(value, hex_value(4));
      if (value >= 0xD800 && value < 0xDC00 && take("\\u")) {
        KVERN_TRY(const uint32_t low, hex_value(4));
        if (low < 0xDC00 || low > 0xDFFF) return error("that is half a character");
        value = 0x10000 + ((value - 0xD800) << 10 | (low - 0xDC00));
      }
    }
    if (value >= 0xD800 && value <= 0xDFFF) return error("that is half a character");
    return CharSet::of(value);
  }

  Result<CharSet> control() {
    const char c = peek();
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return error("expected a letter behind \\c");
    ++at_;
    return CharSet::of(static_cast<char32_t>(c) & 0x1FU);
  }

  Result<CharSet> class_item() {
    if (take('\\')) return escape(true);
    KVERN_TRY(const char32_t c, plain());
    return CharSet::of(c);
  }

  static bool is_one(const CharSet& set) {
    return set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].last;
  }

  Result<ExprId> char_class() {
    const bool negated = take('^');
    CharSet set;
    while (!take(']')) {
      if (at_end()) return error("expected ] at the end of the class");
      KVERN_TRY(CharSet item, class_item());
      const bool is_range = peek() == '-' && !text_.substr(at_).starts_with("-]");
      if (is_range && is_one(item)) {
        ++at_;
        if (at_end()) return error("expected ] at the end of the class");
        KVERN_TRY(const CharSet last, class_item());
        if (!is_one(last) || last.ranges()[0].first < item.ranges()[0].first)
          return error("expected a range of characters that does not fall");
        item = CharSet({{item.ranges()[0].first, last.ranges()[0].first}});
      }
      set = set.united(item);
    }
    return rules_.chars(negated ? set.complement() : set);
  }

  Result<ExprId> repeated(ExprId part) {
    Times times;
    if (take('*')) {
    } else if (take('+')) {
      times.min = 1;
    } else if (take('?')) {
      times.max = 1;
    } else if (peek() == '{') {
      KVERN_TRY(times, braces());
    } else {
      return part;
    }
    take('?');  // Lazy: the same texts.
    if (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{')
      return error("there is nothing to repeat");
    return rules_.repeat(part, times);
  }

  Result<uint32_t> number() {
    if (peek() < '0' || peek() > '9') return error("expected a number in {} (or \\{)");
    uint32_t value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      value = value * 10 + static_cast<uint32_t>(peek() - '0');
      if (value > kMaxTimes) return error(fmt::format("a repetition of more than {}", kMaxTimes));
    }
    return value;
  }

  Result<Times> braces() {
    ++at_;
    Times times;
    KVERN_TRY(times.min, number());
    times.max = times.min;
    if (take(',')) {
      times.max = kUnlimited;
      if (peek() != '}') {
        KVERN_TRY(times.max, number());
      }
    }
    if (!take('}')) return error("expected } at the end of the repetition");
    if (times.max < times.min) return error("expected a repetition whose bounds do not fall");
    return times;
  }

  std::string_view text_;
  Rules& rules_;
  size_t at_ = 0;
  uint32_t depth_ = 0;
};

}  // namespace

Result<ExprId> parse_regex(std::string_view pattern, Rules& rules) {
  if (pattern.size() > kMaxBytes)
    return fail(ErrorCode::kInvalidArgument, fmt::format("the pattern has more than {} bytes", kMaxBytes));
  return Parser(pattern, rules).parse();
}

}  // namespace kvern::text::grammar
