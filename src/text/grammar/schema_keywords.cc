// What is right and wrong in one schema.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "text/grammar/schema_merge.h"
#include "text/grammar/string_formats.h"

namespace kvern::text::grammar {
namespace {

enum class Expect : uint8_t {
  kAnnotation,
  kHandledElsewhere,
  kTypes,
  kAnyValue,
  kArray,
  kStrings,
  kString,
  kFormat,
  kBool,
  kCount,
  kNumber,
  kSchema,
  kSchemas,
  kSchemaMap,
  kFalseOnly,
};

struct Keyword {
  std::string_view name;
  Expect expect;
};

constexpr std::array kKeywords = {
    Keyword{"$comment", Expect::kAnnotation},
    Keyword{"$id", Expect::kAnnotation},
    Keyword{"$schema", Expect::kAnnotation},
    Keyword{"default", Expect::kAnnotation},
    Keyword{"deprecated", Expect::kAnnotation},
    Keyword{"description", Expect::kAnnotation},
    Keyword{"examples", Expect::kAnnotation},
    Keyword{"readOnly", Expect::kAnnotation},
    Keyword{"title", Expect::kAnnotation},
    Keyword{"writeOnly", Expect::kAnnotation},
    Keyword{"$defs", Expect::kAnnotation},
    Keyword{"definitions", Expect::kAnnotation},
    Keyword{"$ref", Expect::kHandledElsewhere},
    Keyword{"allOf", Expect::kHandledElsewhere},
    Keyword{"anyOf", Expect::kHandledElsewhere},
    Keyword{"oneOf", Expect::kHandledElsewhere},
    Keyword{"type", Expect::kTypes},
    Keyword{"const", Expect::kAnyValue},
    Keyword{"enum", Expect::kArray},
    Keyword{"nullable", Expect::kBool},
    Keyword{"minLength", Expect::kCount},
    Keyword{"maxLength", Expect::kCount},
    Keyword{"pattern", Expect::kString},
    Keyword{"format", Expect::kFormat},
    Keyword{"minimum", Expect::kNumber},
    Keyword{"maximum", Expect::kNumber},
    Keyword{"exclusiveMinimum", Expect::kNumber},
    Keyword{"exclusiveMaximum", Expect::kNumber},
    Keyword{"properties", Expect::kSchemaMap},
    Keyword{"required", Expect::kStrings},
    Keyword{"additionalProperties", Expect::kSchema},
    Keyword{"minProperties", Expect::kCount},
    Keyword{"maxProperties", Expect::kCount},
    Keyword{"items", Expect::kSchema},
    Keyword{"prefixItems", Expect::kSchemas},
    Keyword{"minItems", Expect::kCount},
    Keyword{"maxItems", Expect::kCount},
    Keyword{"uniqueItems", Expect::kFalseOnly},
};

constexpr std::array<std::string_view, 7> kTypes{"string", "integer", "number", "boolean",
                                                 "null",   "array",   "object"};
constexpr std::array<std::string_view, 3> kStringKeywords{"minLength", "maxLength", kPatterns};
constexpr std::array<std::string_view, 4> kNumberKeywords{"minimum", "maximum", "exclusiveMinimum",
                                                          "exclusiveMaximum"};
constexpr std::array<std::string_view, 4> kArrayKeywords{"items", "prefixItems", "minItems", "maxItems"};
constexpr std::array<std::string_view, 5> kObjectKeywords{"properties", "required", "additionalProperties",
                                                          "minProperties", "maxProperties"};

bool is_schema(const json::value& value) { return value.is_object() || value.is_bool(); }
bool all_strings(const json::value& value) {
  return value.is_array() &&
         std::ranges::all_of(value.get_array(), [](const auto& item) { return item.is_string(); });
}
bool is_count(const json::value& value) {
  if (value.is_double())
    return value.get_double() >= 0 && value.get_double() < 1e15 &&
           std::floor(value.get_double()) == value.get_double();
  return value.is_uint64() || (value.is_int64() && value.get_int64() >= 0);
}

/// What is expected, where `value` is not that.
std::string_view complaint(const json::value& value, Expect expect) {
  switch (expect) {
    case Expect::kAnnotation:
    case Expect::kHandledElsewhere:
    case Expect::kAnyValue:
      return {};
    case Expect::kTypes:
      return value.is_string() || all_strings(value) ? "" : "a type or an array of types";
    case Expect::kArray:
      return value.is_array() ? "" : "an array";
    case Expect::kStrings:
      return all_strings(value) ? "" : "an array of strings";
    case Expect::kString:
    case Expect::kFormat:
      return value.is_string() ? "" : "a string";
    case Expect::kFalseOnly:
    case Expect::kBool:
      return value.is_bool() ? "" : "true or false";
    case Expect::kCount:
      return is_count(value) ? "" : "an integer of at least 0";
    case Expect::kNumber:
      return value.is_number() && std::isfinite(value.to_number<double>()) ? "" : "a number";
    case Expect::kSchema:
      return is_schema(value) ? "" : "a schema (an object, true or false)";
    case Expect::kSchemas:
      return value.is_array() && std::ranges::all_of(value.get_array(), is_schema) ? ""
                                                                                   : "an array of schemas";
    case Expect::kSchemaMap:
      return value.is_object() &&
                     std::ranges::all_of(value.get_object(),
                                         [](const auto& member) { return is_schema(member.value()); })
                 ? ""
                 : "an object of schemas";
  }
  return {};
}

Status check_types(const json::array& types, const std::string& pointer) {
  for (const json::value& type : types)
    if (std::ranges::find(kTypes, std::string_view(type.get_string())) == kTypes.end())
      return schema_error(pointer, "type",
                          fmt::format("{:?} is no type", std::string_view(type.get_string())));
  return Ok{};
}

Status add_keyword(const Keyword& keyword, const json::value& value, const std::string& pointer,
                   json::object& out) {
  if (const std::string_view expected = complaint(value, keyword.expect); !expected.empty())
    return schema_error(pointer, keyword.name, fmt::format("expected {}", expected));
  switch (keyword.expect) {
    case Expect::kAnnotation:
    case Expect::kHandledElsewhere:
      return Ok{};
    case Expect::kTypes: {
      const json::array types = value.is_array() ? value.get_array() : json::array{value};
      KVERN_TRY_STATUS(check_types(types, pointer));
      out["type"] = types;
      return Ok{};
    }
    case Expect::kAnyValue:
      out["enum"] = json::array{value};
      return Ok{};
    case Expect::kFalseOnly:
      if (value.get_bool()) return schema_error(pointer, keyword.name, "true is not supported");
      return Ok{};
    case Expect::kFormat: {
      const auto pattern = pattern_of_format(value.get_string());
      if (!pattern)
        return schema_error(pointer, keyword.name,
                            fmt::format("{:?} is not supported; known formats are {}",
                                        std::string_view(value.get_string()), known_formats()));
      if (!out.contains(kPatterns)) out[kPatterns] = json::array();
      out[kPatterns].get_array().emplace_back(*pattern);
      return Ok{};
    }
    case Expect::kString:
      if (!out.contains(kPatterns)) out[kPatterns] = json::array();
      out[kPatterns].get_array().push_back(value);
      return Ok{};
    default:
      out[keyword.name] = value;
      return Ok{};
  }
}

bool has_any(const json::object& keywords, std::span<const std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return keywords.contains(name); });
}

}  // namespace

std::unexpected<Error> schema_error(const std::string& pointer, std::string_view keyword,
                                    std::string message) {
  const std::string where = keyword.empty() ? pointer : child_pointer(pointer, keyword);
  return fail(ErrorCode::kInvalidArgument, std::move(message), fmt::format("JSON Schema {}", where));
}

std::string child_pointer(const std::string& pointer, std::string_view key) {
  std::string child = pointer + "/";
  for (const char c : key) {
    if (c == '~')
      child += "~0";
    else if (c == '/')
      child += "~1";
    else
      child.push_back(c);
  }
  return child;
}

Result<json::object> own_keywords(const json::object& schema, const std::string& pointer) {
  json::object out;
  for (const auto& [name, value] : schema) {
    const auto keyword = std::ranges::find(kKeywords, std::string_view(name), &Keyword::name);
    if (keyword == kKeywords.end()) return schema_error(pointer, name, "this keyword is not supported");
    if (name == "nullable") continue;
    // `const` and `enum` together: both hold.
    if ((name == "const" || name == "enum") && out.contains("enum")) {
      json::object other;
      KVERN_TRY_STATUS(add_keyword(*keyword, value, pointer, other));
      const auto merged = merge(json::object{{"enum", out["enum"]}}, other);
      out["enum"] = merged ? merged->at("enum") : json::value(json::array());
      continue;
    }
    KVERN_TRY_STATUS(add_keyword(*keyword, value, pointer, out));
  }
  const json::value* nullable = schema.if_contains("nullable");
  if (nullable != nullptr && !nullable->is_bool())
    return schema_error(pointer, "nullable", "expected true or false");
  if (nullable != nullptr && nullable->get_bool() && out.contains("type"))
    out["type"].get_array().emplace_back("null");
  return out;
}

std::vector<std::string> types_of(const json::object& keywords) {
  std::vector<std::string> types;
  const auto add = [&](std::string_view type) {
    if (std::ranges::find(types, type) == types.end()) types.emplace_back(type);
  };
  if (const json::value* named = keywords.if_contains("type")) {
    for (const json::value& type : named->get_array()) add(type.get_string());
    // An integer is a number: both would say everything twice.
    if (std::ranges::find(types, "number") != types.end()) std::erase(types, "integer");
    return types;
  }
  if (has_any(keywords, kStringKeywords)) add("string");
  if (has_any(keywords, kNumberKeywords)) add("number");
  if (has_any(keywords, kArrayKeywords)) add("array");
  if (has_any(keywords, kObjectKeywords)) add("object");
  return types;
}

bool is_of_type(const json::value& value, std::string_view type) {
  switch (value.kind()) {
    case json::kind::null:
      return type == "null";
    case json::kind::bool_:
      return type == "boolean";
    case json::kind::string:
      return type == "string";
    case json::kind::array:
      return type == "array";
    case json::kind::object:
      return type == "object";
    case json::kind::int64:
    case json::kind::uint64:
      return type == "number" || type == "integer";
    case json::kind::double_:
      return type == "number" || (type == "integer" && std::floor(value.get_double()) == value.get_double());
  }
  return false;
}

}  // namespace kvern::text::grammar
