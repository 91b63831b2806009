#include "text/grammar/schema_compiler.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "text/grammar/schema_merge.h"
#include "text/grammar/schema_rules.h"

namespace kvern::text::grammar {
namespace {

constexpr uint32_t kMaxDepth = 100;
constexpr size_t kMaxExprs = 500'000;
constexpr size_t kMaxAlternatives = 256;
constexpr uint32_t kMaxExpanded = 4096;

constexpr std::array<std::string_view, 4> kCombining{"$ref", "anyOf", "oneOf", "allOf"};

/// The only keyword of a schema, but for annotations.
std::string_view only_keyword(const json::object& schema, const json::object& own) {
  if (!own.empty()) return {};
  std::string_view only;
  for (const std::string_view name : kCombining) {
    if (!schema.contains(name)) continue;
    if (!only.empty()) return {};
    only = name;
  }
  return only;
}

/// Counts levels while it lives.
class Level {
 public:
  explicit Level(uint32_t& depth) : depth_(depth) { ++depth_; }
  ~Level() { --depth_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  uint32_t& depth_;
};

/// %41 as it stands in a URI fragment.
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* begin = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(begin, begin + 2, value, 16).ptr == begin + 2) {
      out.push_back(static_cast<char>(value));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

Status check_schema_list(const json::value& list, const std::string& pointer, std::string_view keyword) {
  const auto is_schema = [](const json::value& item) { return item.is_object() || item.is_bool(); };
  if (!list.is_array() || list.get_array().empty() || !std::ranges::all_of(list.get_array(), is_schema))
    return schema_error(pointer, keyword, "expected an array of schemas");
  return Ok{};
}

std::string item_pointer(const std::string& pointer, size_t index) {
  return fmt::format("{}/{}", pointer, index);
}

}  // namespace

Result<ExprId> SchemaCompiler::value(const json::value& schema, const std::string& pointer) {
  const Level level(depth_);
  if (depth_ > kMaxDepth)
    return schema_error(pointer, {}, fmt::format("schemas are nested more than {} deep", kMaxDepth));
  if (rules_.expr_count() > kMaxExprs) return schema_error(pointer, {}, "the schema is too large");
  if (schema.is_bool()) return schema.get_bool() ? json_.any_value() : rules_.nothing();
  if (!schema.is_object()) return schema_error(pointer, {}, "expected a schema: an object, true or false");
  return object_schema(schema.get_object(), pointer);
}

Result<ExprId> SchemaCompiler::object_schema(const json::object& schema, const std::string& pointer) {
  KVERN_TRY(const json::object own, own_keywords(schema, pointer));
  // Where nothing must be merged, subschemas stay as they are: they may refer to themselves.
  const std::string_view only = only_keyword(schema, own);
  if (only == "$ref") return reference(schema.at("$ref"), pointer);
  if (only == "anyOf" || only == "oneOf") {
    KVERN_TRY_STATUS(check_schema_list(schema.at(only), pointer, only));
    return any_of(schema.at(only), child_pointer(pointer, only));
  }
  if (only.empty() && std::ranges::none_of(kCombining, [&](auto name) { return schema.contains(name); }))
    return keywords(own, pointer);
  KVERN_TRY(const Alternatives alternatives, expand(schema, pointer));
  if (alternatives.empty())
    return schema_error(pointer, {}, "its parts contradict each other: no value is valid");
  std::vector<ExprId> choices;
  for (const json::object& alternative : alternatives) {
    KVERN_TRY(const ExprId choice, keywords(alternative, pointer));
    choices.push_back(choice);
  }
  return rules_.choice(std::move(choices));
}

Result<ExprId> SchemaCompiler::any_of(const json::value& schemas, const std::string& pointer) {
  std::vector<ExprId> choices;
  for (size_t i = 0; i < schemas.get_array().size(); ++i) {
    KVERN_TRY(const ExprId choice, value(schemas.get_array()[i], item_pointer(pointer, i)));
    choices.push_back(choice);
  }
  return rules_.choice(std::move(choices));
}

Result<std::pair<const json::value*, std::string>> SchemaCompiler::resolve(const json::value& reference,
                                                                           const std::string& pointer) const {
  if (!reference.is_string()) return schema_error(pointer, "$ref", "expected a string");
  const std::string text = percent_decoded(reference.get_string());
  if (text != "#" && !text.starts_with("#/"))
    return schema_error(
        pointer, "$ref",
        fmt::format("{:?} is not supported: only references into the same schema are (#/$defs/name)", text));
  boost::system::error_code failure;
  const json::value* target = document_.find_pointer(text.substr(1), failure);
  if (target == nullptr) return schema_error(pointer, "$ref", fmt::format("there is nothing at {:?}", text));
  return std::pair(target, text);
}

Result<ExprId> SchemaCompiler::reference(const json::value& target, const std::string& pointer) {
  KVERN_TRY(const auto resolved, resolve(target, pointer));
  const auto& [schema, name] = resolved;
  const auto found = references_.find(name);
  if (found != references_.end()) return rules_.rule(found->second);
  // Declared first: it may refer to itself.
  const RuleId rule = rules_.declare(name);
  references_.emplace(name, rule);
  KVERN_TRY(const ExprId body, value(*schema, name));
  rules_.define(rule, body);
  return rules_.rule(rule);
}

Status SchemaCompiler::restrict(Alternatives& alternatives, const Alternatives& others,
                                const std::string& pointer) const {
  Alternatives both;
  for (const json::object& a : alternatives) {
    for (const json::object& b : others) {
      if (auto merged = merge(a, b)) both.push_back(std::move(*merged));
      if (both.size() > kMaxAlternatives)
        return schema_error(
            pointer, {},
            fmt::format("anyOf, oneOf and allOf make more than {} alternatives", kMaxAlternatives));
    }
  }
  alternatives = std::move(both);
  return Ok{};
}

Result<SchemaCompiler::Alternatives> SchemaCompiler::expand_any(const json::value& schemas,
                                                                const std::string& pointer) {
  Alternatives all;
  for (size_t i = 0; i < schemas.get_array().size(); ++i) {
    KVERN_TRY(Alternatives some, expand(schemas.get_array()[i], item_pointer(pointer, i)));
    std::ranges::move(some, std::back_inserter(all));
    if (all.size() > kMaxAlternatives)
      return schema_error(pointer, {}, fmt::format("it makes more than {} alternatives", kMaxAlternatives));
  }
  return all;
}

Result<SchemaCompiler::Alternatives> SchemaCompiler::expand(const json::value& schema,
                                                            const std::string& pointer) {
  const Level level(depth_);
  if (depth_ > kMaxDepth)
    return schema_error(pointer, {}, "what must be merged is nested too deep, or refers to itself");
  // References to references double what is merged at each level.
  if (++expanded_ > kMaxExpanded)
    return schema_error(pointer, {}, fmt::format("more than {} schemas must be merged", kMaxExpanded));
  if (schema.is_bool()) return schema.get_bool() ? Alternatives{json::object()} : Alternatives{};
  if (!schema.is_object()) return schema_error(pointer, {}, "expected a schema: an object, true or false");
  const json::object& object = schema.get_object();
  KVERN_TRY(json::object own, own_keywords(object, pointer));
  Alternatives alternatives{std::move(own)};
  if (const json::value* target = object.if_contains("$ref")) {
    KVERN_TRY(const auto resolved, resolve(*target, pointer));
    KVERN_TRY(const Alternatives others, expand(*resolved.first, resolved.second));
    KVERN_TRY_STATUS(restrict(alternatives, others, pointer));
  }
  if (const json::value* all = object.if_contains("allOf")) {
    KVERN_TRY_STATUS(check_schema_list(*all, pointer, "allOf"));
    for (size_t i = 0; i < all->get_array().size(); ++i) {
      KVERN_TRY(const Alternatives others, expand(all->get_array()[i], item_pointer(pointer + "/allOf", i)));
      KVERN_TRY_STATUS(restrict(alternatives, others, pointer));
    }
  }
  for (const std::string_view keyword : {"anyOf", "oneOf"}) {
    const json::value* any = object.if_contains(keyword);
    if (any == nullptr) continue;
    KVERN_TRY_STATUS(check_schema_list(*any, pointer, keyword));
    KVERN_TRY(const Alternatives others, expand_any(*any, child_pointer(pointer, keyword)));
    KVERN_TRY_STATUS(restrict(alternatives, others, pointer));
  }
  return alternatives;
}

Result<RuleId> add_schema(const json::value& schema, std::string name, Rules& rules) {
  SchemaCompiler compiler(schema, rules);
  KVERN_TRY(const ExprId body, compiler.value(schema, "#"));
  return rules.add_rule(std::move(name), body);
}

}  // namespace kvern::text::grammar
