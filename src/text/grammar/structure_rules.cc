#include "text/grammar/structure_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "text/grammar/char_set.h"
#include "text/grammar/free_text.h"
#include "text/grammar/schema_rules.h"

namespace kvern::text::grammar {
namespace {

constexpr size_t kMaxParts = 4096;
constexpr size_t kMaxLiteralBytes = 65'536;
constexpr size_t kMaxTokenSpelling = 64;
constexpr std::string_view kWhere = "structure";

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const DecodedChar c = decode_utf8(text);
    if (c.length == 0) return false;
    text.remove_prefix(c.length);
  }
  return true;
}

std::unexpected<Error> error(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message), std::string(kWhere));
}

Status check_literal(std::string_view literal) {
  if (literal.size() > kMaxLiteralBytes)
    return error(fmt::format("a literal has {} bytes, more than {}", literal.size(), kMaxLiteralBytes));
  if (!is_utf8(literal)) return error("a literal is not UTF-8");
  return Ok{};
}

class Builder {
 public:
  Builder(const Structure& structure, const FindToken& token, Rules& rules)
      : structure_(structure), token_(token), rules_(rules), triggers_(structure.triggers) {
    if (triggers_.empty())
      for (const StructuredPart& part : structure.parts) triggers_.push_back(part.begin);
    std::ranges::sort(triggers_);
    const auto rest = std::ranges::unique(triggers_);
    triggers_.erase(rest.begin(), rest.end());
  }

  Result<RuleId> build() {
    KVERN_TRY_STATUS(check());
    for (size_t i = 0; i < structure_.parts.size(); ++i) {
      auto value = add_schema(structure_.parts[i].schema, fmt::format("part-{}", i), rules_);
      if (!value) {
        Error failure = std::move(value).error();
        failure.where = fmt::format("{} of part {}", failure.where, i);
        return std::unexpected(std::move(failure));
      }
      tails_.push_back(rules_.sequence({rules_.rule(*value), literal(structure_.parts[i].end)}));
    }
    return rules_.add_rule("root", text());
  }

 private:
  bool has_free_text() const {
    return structure_.free_before || structure_.free_between || structure_.free_after;
  }

  Status check() const {
    if (structure_.parts.empty()) return error("there are no parts");
    if (structure_.parts.size() > kMaxParts) return error(fmt::format("more than {} parts", kMaxParts));
    if (structure_.max_parts == 0 || structure_.max_parts < structure_.min_parts)
      return error(fmt::format("max_parts is {}, min_parts {}", structure_.max_parts, structure_.min_parts));
    if (structure_.free_between && !structure_.separator.empty())
      return error("a separator beside free text between parts");
    KVERN_TRY_STATUS(check_literal(structure_.separator));
    for (const std::string& trigger : triggers_) {
      KVERN_TRY_STATUS(check_literal(trigger));
      if (trigger.empty() && has_free_text()) return error("an empty trigger");
    }
    for (const StructuredPart& part : structure_.parts) {
      KVERN_TRY_STATUS(check_literal(part.begin));
      KVERN_TRY_STATUS(check_literal(part.end));
      const bool triggered = std::ranges::any_of(
          triggers_, [&](const std::string& trigger) { return part.begin.starts_with(trigger); });
      if (has_free_text() && !triggered)
        return error(
            fmt::format("no trigger is the beginning of the part that begins with {:?}", part.begin));
    }
    return Ok{};
  }

  ExprId text() {
    const ExprId first = structure_.free_before ? free_then_part() : part();
    const ExprId next =
        structure_.free_between ? free_then_part() : rules_.sequence({literal(structure_.separator), part()});
    const uint32_t min = std::max(structure_.min_parts, 1U) - 1;
    const uint32_t max = structure_.max_parts == kUnlimited ? kUnlimited : structure_.max_parts - 1;
    std::vector<ExprId> parts{first, rules_.repeat(next, {.min = min, .max = max})};
    if (structure_.free_after) parts.push_back(free());
    const ExprId with_parts = rules_.sequence(std::move(parts));
    if (structure_.min_parts > 0) return with_parts;
    const bool free_alone = structure_.free_before || structure_.free_after;
    return rules_.choice({with_parts, free_alone ? free() : rules_.empty()});
  }

  ExprId part() {
    std::vector<ExprId> choices;
    choices.reserve(structure_.parts.size());
    for (size_t i = 0; i < structure_.parts.size(); ++i)
      choices.push_back(rules_.sequence({literal(structure_.parts[i].begin), tails_[i]}));
    return rules_.choice(std::move(choices));
  }

  /// Free text to the end.
  ExprId free() {
    FreeText text = free_text_until(triggers_, rules_);
    text.graph.accepting = text.free;
    return rules_.graph(std::move(text.graph));
  }

  /// Free text, none of it perhaps, and the part that ends it.
  ExprId free_then_part() {
    FreeText text = free_text_until(triggers_, rules_);
    GraphExpr& graph = text.graph;
    const uint32_t end = graph.vertices++;
    graph.accepting = {end};
    for (const FreeText::Match& match : text.matches) {
      const std::string& trigger = triggers_[match.string];
      for (size_t i = 0; i < structure_.parts.size(); ++i) {
        const std::string& begin = structure_.parts[i].begin;
        if (!begin.starts_with(trigger)) continue;
        const ExprId rest = literal(std::string_view(begin).substr(trigger.size()));
        graph.edges.push_back({match.vertex, end, rules_.sequence({rest, tails_[i]})});
      }
    }
    // A control token in place of what it is called.
    for (size_t i = 0; i < structure_.parts.size(); ++i) {
      const std::string_view begin = structure_.parts[i].begin;
      const auto [token, length] = token_at(begin);
      if (length == 0) continue;
      const ExprId whole =
          rules_.sequence({rules_.token({.token = token}), literal(begin.substr(length)), tails_[i]});
      for (const uint32_t vertex : text.free) graph.edges.push_back({vertex, end, whole});
    }
    return rules_.graph(std::move(graph));
  }

  struct FoundToken {
    TokenId token = 0;
    size_t length = 0;
  };
  /// The control token with the longest spelling at the beginning of `text`.
  FoundToken token_at(std::string_view text) const {
    for (size_t length = std::min(text.size(), kMaxTokenSpelling); length > 0; --length)
      if (const auto token = token_(text.substr(0, length))) return {.token = *token, .length = length};
    return {};
  }

  /// These bytes, or control tokens in the place of parts that are called like them.
  ExprId literal(std::string_view text) {
    std::vector<ExprId> parts;
    size_t plain = 0;
    for (size_t i = 0; i < text.size();) {
      const auto [token, length] = token_at(text.substr(i));
      if (length == 0) {
        ++i;
        continue;
      }
      if (i > plain) parts.push_back(rules_.bytes(text.substr(plain, i - plain)));
      parts.push_back(rules_.choice({rules_.bytes(text.substr(i, length)), rules_.token({.token = token})}));
      i += length;
      plain = i;
    }
    if (plain < text.size() || parts.empty()) parts.push_back(rules_.bytes(text.substr(plain)));
    return rules_.sequence(std::move(parts));
  }

  const Structure& structure_;
  const FindToken& token_;
  Rules& rules_;
  std::vector<std::string> triggers_;
  /// Behind the beginning of each part: its value and its end.
  std::vector<ExprId> tails_;
};

}  // namespace

Result<RuleId> add_structure(const Structure& structure, const FindToken& token, Rules& rules) {
  return Builder(structure, token, rules).build();
}

}  // namespace kvern::text::grammar
