#include "text/grammar/json_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "text/grammar/number_rules.h"

namespace kvern::text::grammar {
namespace {

constexpr uint32_t kMaxIndent = 32;

/// What a string may contain as it is.
CharSet plain_chars() { return CharSet({{0x20, 0x21}, {0x23, 0x5B}, {0x5D, kMaxCodePoint}}); }
CharSet hex_digits() { return CharSet({{'0', '9'}, {'a', 'f'}, {'A', 'F'}}); }

/// The shortest escape of a character that needs one.
std::string escape_of(char32_t c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
  }
}

}  // namespace

ExprId JsonRules::cached(std::string name, ExprId (JsonRules::*make)()) {
  const auto found = made_.find(name);
  if (found != made_.end()) return rules_.rule(found->second);
  // Declared first: a value contains values.
  const RuleId rule = rules_.declare("json-" + name);
  made_.emplace(std::move(name), rule);
  rules_.define(rule, (this->*make)());
  return rules_.rule(rule);
}

ExprId JsonRules::space() { return cached("space", &JsonRules::make_space); }
ExprId JsonRules::any_value() { return cached("value", &JsonRules::make_value); }
ExprId JsonRules::any_string() { return cached("string", &JsonRules::make_string); }
ExprId JsonRules::any_number() { return cached("number", &JsonRules::make_number); }

ExprId JsonRules::make_space() {
  const ExprId indent =
      rules_.repeat(rules_.chars(CharSet({{' ', ' '}, {'\t', '\t'}})), {.min = 0, .max = kMaxIndent});
  return rules_.optional(rules_.choice({rules_.bytes(" "), rules_.sequence({rules_.bytes("\n"), indent})}));
}

ExprId JsonRules::make_string() {
  return rules_.sequence({rules_.bytes("\""), rules_.repeat(any_char(), {}), rules_.bytes("\"")});
}

ExprId JsonRules::any_char() {
  if (!any_char_)
    any_char_ = rules_.choice({rules_.chars(plain_chars()), cached("escape", &JsonRules::make_escape)});
  return *any_char_;
}

ExprId JsonRules::make_escape() {
  const ExprId hex = rules_.chars(hex_digits());
  const auto set = [&](std::vector<CharRange> ranges) { return rules_.chars(CharSet(std::move(ranges))); };
  const ExprId d = set({{'d', 'd'}, {'D', 'D'}});
  // Not D800 to DFFF.
  const ExprId character = rules_.choice(
      {rules_.sequence({set({{'0', '9'}, {'a', 'c'}, {'A', 'C'}, {'e', 'f'}, {'E', 'F'}}), hex, hex, hex}),
       rules_.sequence({d, set({{'0', '7'}}), hex, hex})});
  const ExprId pair = rules_.sequence({d, set({{'8', '9'}, {'a', 'b'}, {'A', 'B'}}), hex, hex,
                                       rules_.bytes("\\u"), d, set({{'c', 'f'}, {'C', 'F'}}), hex, hex});
  const ExprId letter =
      set({{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}});
  return rules_.sequence(
      {rules_.bytes("\\"),
       rules_.choice({letter, rules_.sequence({rules_.bytes("u"), rules_.choice({character, pair})})})});
}

ExprId JsonRules::make_number() { return any_json_number(rules_); }

ExprId JsonRules::member(ExprId name, ExprId value) {
  return rules_.sequence({name, rules_.bytes(":"), space(), value});
}

ExprId JsonRules::comma() { return rules_.sequence({rules_.bytes(","), space()}); }

ExprId JsonRules::list(char open, ExprId element, char close) {
  const ExprId more = rules_.repeat(rules_.sequence({comma(), element}), {});
  const ExprId content = rules_.optional(rules_.sequence({element, more, space()}));
  return rules_.sequence(
      {rules_.bytes(std::string(1, open)), space(), content, rules_.bytes(std::string(1, close))});
}

ExprId JsonRules::make_value() {
  const ExprId value = any_value();
  const RuleId object = rules_.add_rule("json-object", list('{', member(any_string(), value), '}'));
  const RuleId array = rules_.add_rule("json-array", list('[', value, ']'));
  return rules_.choice({rules_.rule(object), rules_.rule(array), any_string(), any_number(),
                        rules_.bytes("true"), rules_.bytes("false"), rules_.bytes("null")});
}

ExprId JsonRules::escapes_of(const CharSet& set) {
  std::vector<ExprId> spellings;
  std::string key;
  for (const CharRange& range : set.ranges()) {
    for (char32_t c = range.first; c <= range.last; ++c) {
      spellings.push_back(rules_.bytes(escape_of(c)));
      key.push_back(static_cast<char>(c));
    }
  }
  constexpr size_t kFew = 4;
  if (spellings.size() <= kFew) return rules_.choice(std::move(spellings));
  auto found = escapes_.find(key);
  if (found == escapes_.end())
    found = escapes_.emplace(key, rules_.add_rule("json-escapes", rules_.choice(std::move(spellings)))).first;
  return rules_.rule(found->second);
}

ExprId JsonRules::char_of(const CharSet& set) {
  const CharSet plain = set.intersected(plain_chars());
  const CharSet escaped = set.without(plain_chars());
  if (escaped.empty()) return rules_.chars(plain);
  if (plain.empty()) return escapes_of(escaped);
  return rules_.choice({rules_.chars(plain), escapes_of(escaped)});
}

ExprId JsonRules::string_of(std::string_view content) {
  std::string text = "\"";
  while (!content.empty()) {
    DecodedChar c = decode_utf8(content);
    if (c.length == 0) c = {.value = 0xFFFD, .length = 1};
    content.remove_prefix(c.length);
    if (plain_chars().contains(c.value))
      append_utf8(text, c.value);
    else
      text += escape_of(c.value);
  }
  return rules_.bytes(text + "\"");
}

ExprId JsonRules::value_of(const json::value& value) {
  if (value.is_string()) return string_of(value.get_string());
  if (!value.is_object() && !value.is_array()) return rules_.bytes(to_json(value));
  std::vector<ExprId> parts{rules_.bytes(value.is_object() ? "{" : "["), space()};
  const auto add = [&](ExprId element) {
    if (parts.size() > 2) parts.push_back(comma());
    parts.push_back(element);
  };
  if (value.is_object()) {
    for (const auto& [name, member_value] : value.get_object())
      add(member(string_of(name), value_of(member_value)));
  } else {
    for (const json::value& element : value.get_array()) add(value_of(element));
  }
  if (parts.size() > 2) parts.push_back(space());
  parts.push_back(rules_.bytes(value.is_object() ? "}" : "]"));
  return rules_.sequence(std::move(parts));
}

}  // namespace kvern::text::grammar
