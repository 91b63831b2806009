#include "text/grammar/schema_merge.h"

#include <algorithm>

#include <fmt/format.h>

namespace kvern::text::grammar {
namespace {

/// Both schemas hold.
json::value all_of(const json::value& a, const json::value& b) {
  if (a.is_bool()) return a.get_bool() ? b : a;
  if (b.is_bool()) return b.get_bool() ? a : b;
  if (a == b) return a;
  return json::object{{"allOf", json::array{a, b}}};
}

json::array common_types(const json::array& a, const json::array& b) {
  json::array both;
  const auto has = [](const json::array& types, std::string_view type) {
    return std::ranges::any_of(types, [&](const json::value& item) { return item.get_string() == type; });
  };
  for (const json::value& type : a) {
    const std::string_view name = type.get_string();
    if (has(b, name) || (name == "integer" && has(b, "number")))
      both.push_back(type);
    else if (name == "number" && has(b, "integer"))
      both.emplace_back("integer");
  }
  return both;
}

json::array common_values(const json::array& a, const json::array& b) {
  json::array both;
  for (const json::value& value : a)
    if (std::ranges::find(b, value) != b.end()) both.push_back(value);
  return both;
}

json::array joined(const json::array& a, const json::array& b) {
  json::array both = a;
  for (const json::value& value : b)
    if (std::ranges::find(both, value) == both.end()) both.push_back(value);
  return both;
}

/// Element by element; where one is shorter, its `items` hold.
json::value merged_prefix(const json::object& a, const json::object& b) {
  const auto prefix_of = [](const json::object& schema) {
    const json::value* prefix = schema.if_contains("prefixItems");
    return prefix != nullptr ? prefix->get_array() : json::array();
  };
  const auto rest_of = [](const json::object& schema) {
    const json::value* items = schema.if_contains("items");
    return items != nullptr ? *items : json::value(true);
  };
  const json::array first = prefix_of(a);
  const json::array second = prefix_of(b);
  json::array both;
  for (size_t i = 0; i < std::max(first.size(), second.size()); ++i)
    both.push_back(
        all_of(i < first.size() ? first[i] : rest_of(a), i < second.size() ? second[i] : rest_of(b)));
  return both;
}

/// What a schema says of a property that it does not name.
json::value rest_of_properties(const json::object& schema) {
  const json::value* rest = schema.if_contains("additionalProperties");
  return rest != nullptr ? *rest : json::value(true);
}

json::object merged_properties(const json::object& a, const json::object& b) {
  const json::value* first = a.if_contains("properties");
  const json::value* second = b.if_contains("properties");
  json::object both;
  if (first != nullptr) {
    for (const auto& [name, schema] : first->get_object()) {
      const json::value* other = second != nullptr ? second->get_object().if_contains(name) : nullptr;
      both[name] = all_of(schema, other != nullptr ? *other : rest_of_properties(b));
    }
  }
  if (second != nullptr) {
    for (const auto& [name, schema] : second->get_object())
      if (!both.contains(name)) both[name] = all_of(schema, rest_of_properties(a));
  }
  return both;
}

bool is_upper_bound(std::string_view name) { return name.starts_with("max") || name == "exclusiveMaximum"; }

json::value tighter(std::string_view name, const json::value& a, const json::value& b) {
  const bool a_is_less = a.to_number<double>() < b.to_number<double>();
  return a_is_less == is_upper_bound(name) ? a : b;
}

/// One keyword that both have.
json::value merged_keyword(std::string_view name, const json::value& a, const json::value& b) {
  if (name == "type") return common_types(a.get_array(), b.get_array());
  if (name == "enum") return common_values(a.get_array(), b.get_array());
  if (name == "required" || name == kPatterns) return joined(a.get_array(), b.get_array());
  if (name == "additionalProperties" || name == "items") return all_of(a, b);
  return tighter(name, a, b);
}

bool is_impossible(const json::object& keywords) {
  for (const std::string_view name : {"type", "enum"})
    if (const json::value* list = keywords.if_contains(name); list != nullptr && list->get_array().empty())
      return true;
  const json::value* properties = keywords.if_contains("properties");
  const json::value* required = keywords.if_contains("required");
  const json::value* types = keywords.if_contains("type");
  const bool only_objects = types != nullptr && types->get_array() == json::array{"object"};
  if (properties == nullptr || required == nullptr || !only_objects) return false;
  return std::ranges::any_of(required->get_array(), [&](const json::value& name) {
    const json::value* schema = properties->get_object().if_contains(name.get_string());
    return schema != nullptr && schema->is_bool() && !schema->get_bool();
  });
}

}  // namespace

std::optional<json::object> merge(const json::object& a, const json::object& b) {
  json::object both = a;
  for (const auto& [name, value] : b) {
    if (name == "properties" || name == "prefixItems") continue;
    json::value* known = both.if_contains(name);
    if (known != nullptr)
      *known = merged_keyword(name, *known, value);
    else
      both[name] = value;
  }
  if (a.contains("properties") || b.contains("properties")) both["properties"] = merged_properties(a, b);
  if (a.contains("prefixItems") || b.contains("prefixItems")) both["prefixItems"] = merged_prefix(a, b);
  if (is_impossible(both)) return std::nullopt;
  return both;
}

}  // namespace kvern::text::grammar
