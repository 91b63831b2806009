#include "text/grammar/gbnf_parser.h"

#include <map>
#include <string>

#include <fmt/format.h>

#include "text/grammar/gbnf_scanner.h"

namespace kvern::text::grammar {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;
constexpr size_t kMaxRules = 10'000;
constexpr size_t kMaxExprs = 500'000;
constexpr uint32_t kMaxDepth = 200;
constexpr uint32_t kMaxRepeats = 4;  // of one part, as in a*?
constexpr uint32_t kMaxTimes = 100'000;

class Parser {
 public:
  Parser(std::string_view text, const GbnfNames& names, Rules& rules)
      : scanner_(text), names_(names), rules_(rules) {}

  Result<RuleId> parse() {
    scanner_.skip_lines();
    while (!scanner_.at_end()) {
      KVERN_TRY_STATUS(rule());
      scanner_.enter_rule({});
      scanner_.skip_lines();
    }
    for (const auto& [name, known] : known_) {
      if (!known.defined) {
        scanner_.enter_rule(known.used_in);
        return scanner_.error_at(known.offset, fmt::format("rule {} is used but not defined", name));
      }
    }
    const auto root = known_.find("root");
    if (root == known_.end() || !root->second.defined)
      return fail(ErrorCode::kInvalidArgument, "expected a rule named root, with which the text begins",
                  "grammar");
    return root->second.rule;
  }

 private:
  struct Known {
    RuleId rule{};
    bool defined = false;
    /// Where it was first used, and by which rule.
    size_t offset = 0;
    std::string used_in;
  };

  Status rule() {
    const size_t offset = scanner_.offset();
    const std::string name(scanner_.name());
    if (name.empty()) return scanner_.error("expected the name of a rule (letters, digits, - and _)");
    current_ = name;
    scanner_.enter_rule(name);
    scanner_.skip_spaces();
    if (!scanner_.take("::=")) return scanner_.error("expected ::= behind the name of the rule");
    scanner_.skip_lines();
    KVERN_TRY(Known * known, reference(name, offset));
    if (known->defined) return scanner_.error_at(offset, fmt::format("rule {} is defined twice", name));
    known->defined = true;
    const RuleId id = known->rule;
    KVERN_TRY(const ExprId body, alternatives(false));
    if (!scanner_.at_line_end())
      return scanner_.error(
          scanner_.peek() == ')'
              ? "there is no ( for this )"
              : "expected a literal, a character class, a name, ., ( or the end of the rule");
    rules_.define(id, body);
    return Ok{};
  }

  Result<Known*> reference(const std::string& name, size_t offset) {
    const auto found = known_.find(name);
    if (found != known_.end()) return &found->second;
    if (known_.size() >= kMaxRules)
      return scanner_.error_at(offset, fmt::format("there are more than {} rules", kMaxRules));
    Known known{.offset = offset, .used_in = current_};
    if (const auto outside = names_.rule ? names_.rule(name) : std::nullopt) {
      known.rule = *outside;
      known.defined = true;
    } else {
      known.rule = rules_.declare(name);
    }
    return &known_.emplace(name, std::move(known)).first->second;
  }

  void skip(bool nested) {
    if (nested)
      scanner_.skip_lines();
    else
      scanner_.skip_spaces();
  }

  Result<ExprId> alternatives(bool nested) {
    std::vector<ExprId> found;
    while (true) {
      KVERN_TRY(const ExprId alternative, sequence(nested));
      found.push_back(alternative);
      if (!scanner_.take('|') && !continued_by_next_line()) break;
      scanner_.skip_lines();
    }
    return rules_.choice(std::move(found));
  }

  /// A line that begins with | belongs to the rule before: nothing else could begin so.
  bool continued_by_next_line() {
    GbnfScanner ahead = scanner_;
    ahead.skip_lines();
    if (!ahead.take('|')) return false;
    scanner_ = ahead;
    return true;
  }

  Result<ExprId> sequence(bool nested) {
    std::vector<ExprId> parts;
    while (true) {
      skip(nested);
      if (scanner_.at_line_end() || scanner_.peek() == '|' || scanner_.peek() == ')') break;
      KVERN_TRY(ExprId part, item());
      KVERN_TRY(part, repeated(part));
      parts.push_back(part);
      if (rules_.expr_count() > kMaxExprs) return scanner_.error("the grammar is too large");
    }
    if (parts.empty()) return rules_.empty();
    return rules_.sequence(std::move(parts));
  }

  Result<ExprId> item() {
    if (scanner_.take('"')) return literal();
    if (scanner_.take('[')) return char_class();
    if (scanner_.take('.')) return rules_.chars(CharSet::all());
    if (scanner_.take('(')) return group();
    if (scanner_.peek() == '<' || scanner_.peek() == '!') return token();
    const size_t offset = scanner_.offset();
    const std::string name(scanner_.name());
    if (name.empty())
      return scanner_.error("expected a literal, a character class, a name, ., ( or the end of the rule");
    KVERN_TRY(const Known* known, reference(name, offset));
    // The next rule may begin on the same line only by mistake.
    return rules_.rule(known->rule);
  }

  Result<ExprId> literal() {
    std::string bytes;
    while (!scanner_.take('"')) {
      if (scanner_.at_line_end()) return scanner_.error("expected \" at the end of the literal");
      KVERN_TRY(const char32_t c, scanner_.character());
      append_utf8(bytes, c);
    }
    return rules_.bytes(bytes);
  }

  Result<ExprId> char_class() {
    const size_t begin = scanner_.offset() - 1;
    const bool negated = scanner_.take('^');
    std::vector<CharRange> ranges;
    while (!scanner_.take(']')) {
      if (scanner_.at_end()) return scanner_.error_at(begin, "expected ] at the end of the character class");
      KVERN_TRY(const char32_t first, scanner_.character());
      CharRange range{first, first};
      if (scanner_.peek() == '-' && !scanner_.rest().starts_with("-]")) {
        scanner_.skip(1);
        if (scanner_.at_end())
          return scanner_.error_at(begin, "expected ] at the end of the character class");
        KVERN_TRY(range.last, scanner_.character());
        if (range.last < range.first) return scanner_.error("expected a range that does not fall");
      }
      ranges.push_back(range);
    }
    const CharSet set(std::move(ranges));
    if (!negated && set.empty()) return scanner_.error_at(begin, "expected characters in the class");
    return rules_.chars(negated ? set.complement() : set);
  }

  Result<ExprId> group() {
    const size_t begin = scanner_.offset() - 1;
    if (++depth_ > kMaxDepth)
      return scanner_.error_at(begin, fmt::format("groups are nested more than {} deep", kMaxDepth));
    scanner_.skip_lines();
    KVERN_TRY(const ExprId body, alternatives(true));
    if (!scanner_.take(')'))
      return scanner_.at_end() ? scanner_.error_at(begin, "expected ) for this (")
                               : scanner_.error("expected a literal, a character class, a name, ., ( or )");
    --depth_;
    return body;
  }

  /// <[1000]>, <think>, !<[1000]>.
  Result<ExprId> token() {
    TokenExpr expr{.negated = scanner_.take('!')};
    const size_t begin = scanner_.offset();
    if (!scanner_.take('<')) return scanner_.error("expected < behind !");
    if (scanner_.take('[')) {
      const auto id = scanner_.number();
      if (!id || !scanner_.take("]>")) return scanner_.error("expected the id of a token and ]>");
      if (*id >= names_.tokens)
        return scanner_.error_at(begin, fmt::format("the vocabulary has no token {}", *id));
      expr.token = static_cast<TokenId>(*id);
      return whole_token(expr, begin);
    }
    const size_t end = scanner_.rest().find('>');
    if (end == std::string_view::npos) return scanner_.error_at(begin, "expected > at the end of the token");
    const std::string spelling = fmt::format("<{}>", scanner_.rest().substr(0, end));
    const auto id = names_.token ? names_.token(spelling) : std::nullopt;
    if (!id) return scanner_.error_at(begin, fmt::format("the vocabulary has no token {}", spelling));
    scanner_.skip(end + 1);
    expr.token = *id;
    return whole_token(expr, begin);
  }

  /// The text is over before a token that ends it, so nothing could follow a rule that asks for one.
  Result<ExprId> whole_token(const TokenExpr& expr, size_t begin) {
    if (!expr.negated && names_.ends && names_.ends(expr.token)) {
      return scanner_.error_at(begin,
                               "this token ends the text: leave it out, the text may end where root does");
    }
    return rules_.token(expr);
  }

  Result<ExprId> repeated(ExprId part) {
    uint32_t repeats = 0;
    while (true) {
      Times times;
      if (scanner_.take('*')) {
        times = {};
      } else if (scanner_.take('+')) {
        times = {.min = 1};
      } else if (scanner_.take('?')) {
        times = {.min = 0, .max = 1};
      } else if (scanner_.peek() == '{') {
        KVERN_TRY(times, braces());
      } else {
        return part;
      }
      if (++repeats > kMaxRepeats) return scanner_.error("expected fewer repetitions of one part");
      part = rules_.repeat(part, times);
    }
  }

  Result<Times> braces() {
    scanner_.skip(1);
    const auto bound = [&]() -> Result<uint32_t> {
      scanner_.skip_spaces();
      const size_t offset = scanner_.offset();
      const auto value = scanner_.number();
      if (!value) return scanner_.error("expected a number in {}");
      if (*value > kMaxTimes)
        return scanner_.error_at(offset, fmt::format("a repetition of more than {}", kMaxTimes));
      scanner_.skip_spaces();
      return static_cast<uint32_t>(*value);
    };
    Times times;
    KVERN_TRY(times.min, bound());
    times.max = times.min;
    if (scanner_.take(',')) {
      scanner_.skip_spaces();
      times.max = kUnlimited;
      if (scanner_.peek() != '}') {
        KVERN_TRY(times.max, bound());
      }
    }
    if (!scanner_.take('}')) return scanner_.error("expected } at the end of the repetition");
    if (times.max < times.min) return scanner_.error("expected a repetition whose bounds do not fall");
    return times;
  }

  GbnfScanner scanner_;
  const GbnfNames& names_;
  Rules& rules_;
  std::map<std::string, Known, std::less<>> known_;
  std::string current_;
  uint32_t depth_ = 0;
};

}  // namespace

Result<RuleId> parse_gbnf(std::string_view text, const GbnfNames& names, Rules& rules) {
  if (text.size() > kMaxBytes)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the grammar has {} bytes, more than {}", text.size(), kMaxBytes), "grammar");
  return Parser(text, names, rules).parse();
}

}  // namespace kvern::text::grammar
