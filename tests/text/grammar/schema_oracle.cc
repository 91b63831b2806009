#include "text/grammar/schema_oracle.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <stdexcept>

namespace kvern::test {
namespace {

const json::value& resolved(const json::value& schema, const json::value& document) {
  boost::system::error_code failure;
  const json::value* target =
      document.find_pointer(std::string_view(schema.at("$ref").as_string()).substr(1), failure);
  if (target == nullptr) throw std::logic_error("a reference to nothing");
  return *target;
}

bool is_type(const json::value& value, std::string_view type) {
  if (type == "integer")
    return value.is_int64() || value.is_uint64() ||
           (value.is_double() && std::floor(value.get_double()) == value.get_double());
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "null") return value.is_null();
  if (type == "array") return value.is_array();
  return value.is_object();
}

size_t characters(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xC0U) != 0x80; }));
}

bool same(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number()) return a.to_number<double>() == b.to_number<double>();
  return a == b;
}

/// The keywords that hold for any value.
bool general(const json::value& value, std::string_view name, const json::value& rule,
             const json::value& document) {
  const auto valid = [&](const json::value& schema) { return is_valid(value, schema, document); };
  if (name == "$ref") return true;  // by the caller
  if (name == "type") {
    if (rule.is_string()) return is_type(value, rule.get_string());
    return std::ranges::any_of(rule.as_array(),
                               [&](const auto& type) { return is_type(value, type.as_string()); });
  }
  if (name == "enum")
    return std::ranges::any_of(rule.as_array(), [&](const auto& item) { return same(value, item); });
  if (name == "const") return same(value, rule);
  if (name == "anyOf" || name == "oneOf") return std::ranges::any_of(rule.as_array(), valid);
  if (name == "allOf") return std::ranges::all_of(rule.as_array(), valid);
  throw std::logic_error("unknown keyword " + std::string(name));
}

bool number_keyword(double value, std::string_view name, double bound) {
  if (name == "minimum") return value >= bound;
  if (name == "maximum") return value <= bound;
  if (name == "exclusiveMinimum") return value > bound;
  return value < bound;
}

bool string_keyword(std::string_view value, std::string_view name, const json::value& rule) {
  if (name == "minLength") return characters(value) >= rule.to_number<size_t>();
  if (name == "maxLength") return characters(value) <= rule.to_number<size_t>();
  if (name == "pattern")
    return std::regex_search(std::string(value), std::regex(std::string(rule.as_string())));
  return true;  // formats are compared with another implementation
}

bool array_keyword(const json::object& schema, const json::array& value, std::string_view name,
                   const json::value& document) {
  const json::value& rule = schema.at(name);
  if (name == "minItems") return value.size() >= rule.to_number<size_t>();
  if (name == "maxItems") return value.size() <= rule.to_number<size_t>();
  const json::value* prefix = schema.if_contains("prefixItems");
  const size_t before = prefix != nullptr ? prefix->as_array().size() : 0;
  for (size_t i = 0; i < value.size(); ++i) {
    if (name == "items" && i >= before && !is_valid(value[i], rule, document)) return false;
    if (name == "prefixItems" && i < before && !is_valid(value[i], rule.as_array()[i], document))
      return false;
  }
  return true;
}

bool object_keyword(const json::object& schema, const json::object& value, std::string_view name,
                    const json::value& document) {
  const json::value& rule = schema.at(name);
  if (name == "minProperties") return value.size() >= rule.to_number<size_t>();
  if (name == "maxProperties") return value.size() <= rule.to_number<size_t>();
  if (name == "required")
    return std::ranges::all_of(rule.as_array(),
                               [&](const auto& key) { return value.contains(key.as_string()); });
  const json::value* named = schema.if_contains("properties");
  for (const auto& [key, member] : value) {
    const json::value* known = named != nullptr ? named->as_object().if_contains(key) : nullptr;
    if (name == "properties" && known != nullptr && !is_valid(member, *known, document)) return false;
    if (name == "additionalProperties" && known == nullptr && !is_valid(member, rule, document)) return false;
  }
  return true;
}

bool is_annotation(std::string_view name) {
  for (const std::string_view known :
       {"title", "description", "default", "examples", "$defs", "definitions", "$schema", "format"})
    if (name == known) return true;
  return false;
}

bool keyword(const json::value& value, const json::object& schema, std::string_view name,
             const json::value& document) {
  const auto one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  if (one_of({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}))
    return !value.is_number() ||
           number_keyword(value.to_number<double>(), name, schema.at(name).to_number<double>());
  if (one_of({"minLength", "maxLength", "pattern"}))
    return !value.is_string() || string_keyword(value.get_string(), name, schema.at(name));
  if (one_of({"minItems", "maxItems", "items", "prefixItems"}))
    return !value.is_array() || array_keyword(schema, value.get_array(), name, document);
  if (one_of({"minProperties", "maxProperties", "required", "properties", "additionalProperties"}))
    return !value.is_object() || object_keyword(schema, value.get_object(), name, document);
  return general(value, name, schema.at(name), document);
}

}  // namespace

bool is_valid(const json::value& value, const json::value& schema, const json::value& document) {
  if (schema.is_bool()) return schema.get_bool();
  const json::object& keywords = schema.as_object();
  if (keywords.contains("$ref") && !is_valid(value, resolved(schema, document), document)) return false;
  if (value.is_null() && keywords.contains("nullable") && keywords.at("nullable").as_bool()) return true;
  for (const auto& [name, rule] : keywords) {
    if (is_annotation(name) || name == "nullable" || name == "$ref") continue;
    if (!keyword(value, keywords, name, document)) return false;
  }
  return true;
}

json::value DocumentMaker::value(const json::value& schema, int depth) {
  if (schema.is_bool()) return any(depth);
  const json::object& object = schema.as_object();
  if (object.contains("$ref")) return value(resolved(schema, document_), depth);
  if (const json::value* examples = object.if_contains("examples"))
    return examples->as_array()[below(examples->as_array().size())];
  if (const json::value* values = object.if_contains("enum"))
    return values->as_array()[below(values->as_array().size())];
  if (const json::value* only = object.if_contains("const")) return *only;
  for (const std::string_view name : {"anyOf", "oneOf"}) {
    const json::value* any_of = object.if_contains(name);
    if (any_of == nullptr) continue;
    // The first is the way out of a recursion.
    return value(any_of->as_array()[depth > 4 ? 0 : below(any_of->as_array().size())], depth + 1);
  }
  const json::value* type = object.if_contains("type");
  if (type == nullptr) return any(depth);
  if (type->is_string()) return of_type(type->get_string(), object, depth);
  return of_type(type->as_array()[below(type->as_array().size())].as_string(), object, depth);
}

json::value DocumentMaker::of_type(std::string_view type, const json::object& schema, int depth) {
  const auto count = [&](std::string_view name, size_t otherwise) {
    const json::value* value = schema.if_contains(name);
    return value != nullptr ? value->to_number<size_t>() : otherwise;
  };
  if (type == "null") return nullptr;
  if (type == "boolean") return below(2) == 0;
  if (type == "string") return string(schema);
  if (type == "integer" || type == "number") return number(schema, type == "integer");
  if (type == "array") {
    json::array array;
    const size_t least = count("minItems", 0);
    const size_t most = std::min(count("maxItems", least + (depth > 4 ? 0 : 3)), least + 4);
    const size_t size = least + below(most - least + 1);
    const json::value* prefix = schema.if_contains("prefixItems");
    const json::value* items = schema.if_contains("items");
    for (size_t i = 0; i < size; ++i) {
      if (prefix != nullptr && i < prefix->as_array().size())
        array.push_back(value(prefix->as_array()[i], depth + 1));
      else if (items != nullptr && items->is_bool() && !items->get_bool())
        break;
      else
        array.push_back(items != nullptr ? value(*items, depth + 1) : any(depth + 1));
    }
    return array;
  }
  json::object object;
  const json::value* required = schema.if_contains("required");
  if (const json::value* named = schema.if_contains("properties")) {
    for (const auto& [name, member] : named->as_object()) {
      const bool needed = required != nullptr && std::ranges::find(required->as_array(), json::value(name)) !=
                                                     required->as_array().end();
      if (needed || (below(2) == 0 && depth < 5)) object[name] = value(member, depth + 1);
    }
  }
  const json::value* more = schema.if_contains("additionalProperties");
  const bool open = more != nullptr ? !more->is_bool() || more->get_bool() : !schema.contains("properties");
  const size_t least = count("minProperties", 0);
  const size_t extra =
      open ? least + below(std::min<size_t>(count("maxProperties", least + 3) - least, 3) + 1) : 0;
  for (size_t i = 0; i < extra; ++i)
    object["extra " + std::to_string(i) + "\u00e9"] =
        more != nullptr ? value(*more, depth + 1) : any(depth + 1);
  return object;
}

json::value DocumentMaker::number(const json::object& schema, bool integer) {
  double least = -1000;
  double most = 1000;
  const auto read = [&](std::string_view name, double& bound, double step) {
    if (const json::value* value = schema.if_contains(name)) bound = value->to_number<double>() + step;
  };
  const double step = integer ? 1 : 0.001;
  if (schema.contains("maximum") || schema.contains("exclusiveMaximum")) least = -1e6;
  read("minimum", least, 0);
  read("exclusiveMinimum", least, step);
  most = std::max(most, least + 1000);
  read("maximum", most, 0);
  read("exclusiveMaximum", most, -step);
  least = std::max(least, most - 1e9);
  const double share = static_cast<double>(below(1001)) / 1000;
  if (integer)
    return static_cast<int64_t>(std::ceil(least) + std::floor(share * (std::floor(most) - std::ceil(least))));
  const double value = std::clamp(std::round((least + share * (most - least)) * 1000) / 1000, least, most);
  return value;
}

json::value DocumentMaker::string(const json::object& schema) {
  const std::vector<std::string> pieces{"a",  "Z",  " ",  "7", "\u00e9", "\u65e5", "\U0001F600", "\"",
                                        "\\", "\n", "\t", "/", "\x01",   "{",      "]",          ","};
  const auto count = [&](std::string_view name, size_t otherwise) {
    const json::value* value = schema.if_contains(name);
    return value != nullptr ? value->to_number<size_t>() : otherwise;
  };
  const size_t least = count("minLength", 0);
  const size_t most = std::min(count("maxLength", least + 12), least + 40);
  std::string text;
  for (size_t i = least + below(most - least + 1); i > 0; --i) text += pieces[below(pieces.size())];
  return json::value(text);
}

json::value DocumentMaker::any(int depth) {
  switch (below(depth > 3 ? 5 : 7)) {
    case 0:
      return nullptr;
    case 1:
      return true;
    case 2:
      return static_cast<int64_t>(below(100000)) - 50000;
    case 3:
      return static_cast<double>(below(100000)) / 64;
    case 4:
      return string({});
    case 5:
      return json::array{any(depth + 1), any(depth + 1)};
    default:
      return json::object{{"k", any(depth + 1)}, {"\u00fc \"q\"", any(depth + 1)}};
  }
}

std::string to_text(const json::value& value, Layout layout, int depth) {
  if (!value.is_object() && !value.is_array()) return to_json(value);
  std::string text = value.is_object() ? "{" : "[";
  const auto line = [&](int level) {
    if (layout == Layout::kIndented) text += "\n" + std::string(static_cast<size_t>(2 * level), ' ');
  };
  bool first = true;
  const auto separate = [&] {
    if (!first) text += layout == Layout::kSpaced ? ", " : ",";
    first = false;
    line(depth + 1);
  };
  if (value.is_object()) {
    for (const auto& [name, member] : value.get_object()) {
      separate();
      text += to_json(json::value(name)) + (layout == Layout::kCompact ? ":" : ": ") +
              to_text(member, layout, depth + 1);
    }
  } else {
    for (const json::value& element : value.get_array()) {
      separate();
      text += to_text(element, layout, depth + 1);
    }
  }
  if (!first) line(depth);
  return text + (value.is_object() ? "}" : "]");
}

json::value mutated(const json::value& value, std::mt19937& random) {
  if (value.is_object() && !value.get_object().empty()) {
    json::object object = value.get_object();
    const auto member = object.begin() + static_cast<std::ptrdiff_t>(random() % object.size());
    switch (random() % 4) {
      case 0:
        object.erase(member);
        return object;
      case 1:
        object["zz"] = 1;
        return object;
      default:
        member->value() = mutated(member->value(), random);
        return object;
    }
  }
  if (value.is_array() && !value.get_array().empty()) {
    json::array array = value.get_array();
    json::value& element = array[random() % array.size()];
    switch (random() % 4) {
      case 0:
        array.push_back(array.front());
        return array;
      case 1:
        array.pop_back();
        return array;
      default:
        element = mutated(element, random);
        return array;
    }
  }
  switch (random() % 6) {
    case 0:
      return nullptr;
    case 1:
      return "~";
    case 2:
      return 1e6;
    case 3:
      return json::array{1};
    case 4:
      return -1;
    default:
      return json::object{};
  }
}

}  // namespace kvern::test
