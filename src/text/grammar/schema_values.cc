// Values, numbers and strings of a schema.
#include <algorithm>

#include <fmt/format.h>

#include "text/grammar/char_dfa.h"
#include "text/grammar/number_rules.h"
#include "text/grammar/regex_parser.h"
#include "text/grammar/schema_compiler.h"
#include "text/grammar/schema_merge.h"

namespace kvern::text::grammar {
namespace {

/// Counts above are not a limit on anything that could be generated, but cost states.
constexpr double kMaxCount = 100'000;

/// An error of a part that does not know where it is.
std::unexpected<Error> at(const Error& error, const std::string& pointer, std::string_view keyword) {
  return schema_error(pointer, keyword, error.message);
}

bool has_only(const json::object& keywords, std::initializer_list<std::string_view> names,
              std::string& other) {
  for (const auto& [name, value] : keywords) {
    if (std::ranges::find(names, std::string_view(name)) != names.end()) continue;
    other = name == kPatterns ? "pattern" : std::string(name);
    return false;
  }
  return true;
}

}  // namespace

Result<Times> SchemaCompiler::counts(const json::object& keywords, std::string_view min, std::string_view max,
                                     const std::string& pointer) const {
  Times times;
  const auto read = [&](std::string_view name, uint32_t& out) -> Status {
    const json::value* value = keywords.if_contains(name);
    if (value == nullptr) return Ok{};
    if (value->to_number<double>() > kMaxCount)
      return schema_error(pointer, name,
                          fmt::format("more than {} is not supported", static_cast<uint32_t>(kMaxCount)));
    out = static_cast<uint32_t>(value->to_number<double>());
    return Ok{};
  };
  KVERN_TRY_STATUS(read(min, times.min));
  KVERN_TRY_STATUS(read(max, times.max));
  if (times.min > times.max)
    return schema_error(pointer, max, fmt::format("it is less than {}: no value is valid", min));
  return times;
}

Result<ExprId> SchemaCompiler::keywords(const json::object& keywords, const std::string& pointer) {
  if (keywords.contains("enum")) return values(keywords, pointer);
  const std::vector<std::string> types = types_of(keywords);
  if (types.empty() && !keywords.contains("type")) return json_.any_value();
  std::vector<ExprId> choices;
  for (const std::string& type : types) {
    KVERN_TRY(const ExprId choice, one_type(type, keywords, pointer));
    choices.push_back(choice);
  }
  if (choices.empty()) return schema_error(pointer, "type", "no type is left: no value is valid");
  return rules_.choice(std::move(choices));
}

Result<ExprId> SchemaCompiler::one_type(std::string_view type, const json::object& keywords,
                                        const std::string& pointer) {
  if (type == "null") return rules_.bytes("null");
  if (type == "boolean") return rules_.choice({rules_.bytes("true"), rules_.bytes("false")});
  if (type == "string") return string(keywords, pointer);
  if (type == "array") return array(keywords, pointer);
  if (type == "object") return object(keywords, pointer);
  return number(keywords, pointer, type == "integer");
}

Result<ExprId> SchemaCompiler::values(const json::object& keywords, const std::string& pointer) {
  std::string other;
  if (!has_only(keywords, {"type", "enum"}, other))
    return schema_error(pointer, other, "this keyword beside enum or const is not supported");
  const std::vector<std::string> types = types_of(keywords);
  const bool any_type = !keywords.contains("type");
  std::vector<ExprId> choices;
  for (const json::value& value : keywords.at("enum").get_array()) {
    const bool fits =
        any_type || std::ranges::any_of(types, [&](const auto& type) { return is_of_type(value, type); });
    if (fits) choices.push_back(json_.value_of(value));
  }
  if (choices.empty()) return schema_error(pointer, "enum", "it has no value of its type: no value is valid");
  return rules_.choice(std::move(choices));
}

Result<ExprId> SchemaCompiler::number(const json::object& keywords, const std::string& pointer,
                                      bool integer) {
  NumberBounds bounds;
  const auto read = [&](std::string_view name, bool exclusive, bool is_lower) {
    const json::value* value = keywords.if_contains(name);
    if (value == nullptr) return;
    const Bound bound{.value = Decimal::from_json(*value).value_or(Decimal{}), .exclusive = exclusive};
    std::optional<Bound>& known = is_lower ? bounds.min : bounds.max;
    const int order = known ? compare(bound.value, known->value) : 0;
    // Of two equal ones the exclusive one is tighter.
    if (!known || (is_lower ? order > 0 : order < 0) || (order == 0 && exclusive)) known = bound;
  };
  read("minimum", false, true);
  read("exclusiveMinimum", true, true);
  read("maximum", false, false);
  read("exclusiveMaximum", true, false);
  if (integer) {
    auto expr = integer_between(rules_, bounds);
    if (!expr) return at(expr.error(), pointer, bounds.min ? "minimum" : "maximum");
    return *expr;
  }
  if (!bounds.min && !bounds.max) return json_.any_number();
  auto expr = number_between(rules_, bounds);
  if (!expr) return at(expr.error(), pointer, bounds.min ? "minimum" : "maximum");
  return *expr;
}

Result<ExprId> SchemaCompiler::string(const json::object& keywords, const std::string& pointer) {
  KVERN_TRY(const Times length, counts(keywords, "minLength", "maxLength", pointer));
  if (const json::value* patterns = keywords.if_contains(kPatterns))
    return string_with_patterns(patterns->get_array(), length, pointer);
  if (length.min == 0 && length.max == kUnlimited) return json_.any_string();
  const ExprId content = rules_.repeat(json_.any_char(), length);
  return rules_.sequence({rules_.bytes("\""), content, rules_.bytes("\"")});
}

Result<ExprId> SchemaCompiler::string_with_patterns(const json::array& patterns, Times length,
                                                    const std::string& pointer) {
  std::optional<CharDfa> all;
  const auto add = [&](Result<CharDfa> dfa) -> Status {
    if (dfa && all) dfa = both(*all, *dfa);
    if (!dfa) return at(dfa.error(), pointer, "pattern");
    all = std::move(*dfa);
    return Ok{};
  };
  for (const json::value& pattern : patterns) {
    Rules characters;
    const auto expr = parse_regex(pattern.get_string(), characters);
    if (!expr) return at(expr.error(), pointer, "pattern");
    KVERN_TRY_STATUS(add(char_dfa(characters, *expr)));
  }
  if (length.min > 0 || length.max != kUnlimited) KVERN_TRY_STATUS(add(length_dfa(length)));
  if (is_empty(*all)) return schema_error(pointer, "pattern", "no string satisfies it: no value is valid");
  const ExprId content = json_content(*all, json_, rules_);
  const ExprId quote = rules_.bytes("\"");
  return rules_.sequence({quote, content, quote});
}

}  // namespace kvern::text::grammar
