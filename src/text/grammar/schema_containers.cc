// Arrays and objects of a schema.
#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "text/grammar/char_set.h"
#include "text/grammar/schema_compiler.h"
#include "text/grammar/schema_merge.h"

namespace kvern::text::grammar {
namespace {

bool is_false(const json::value* schema) {
  return schema != nullptr && schema->is_bool() && !schema->get_bool();
}

/// Characters of names, each at a vertex of its own.
struct NameTree {
  std::vector<std::map<char32_t, uint32_t>> next{1};
  std::vector<bool> is_name{false};

  void add(std::string_view name) {
    uint32_t at = 0;
    while (!name.empty()) {
      DecodedChar c = decode_utf8(name);
      if (c.length == 0) c = {.value = 0xFFFD, .length = 1};
      name.remove_prefix(c.length);
      const auto [edge, is_new] = next[at].try_emplace(c.value, static_cast<uint32_t>(next.size()));
      at = edge->second;
      if (!is_new) continue;
      next.emplace_back();
      is_name.push_back(false);
    }
    is_name[at] = true;
  }
};

}  // namespace

Result<ExprId> SchemaCompiler::array(const json::object& keywords, const std::string& pointer) {
  KVERN_TRY(const Times times, counts(keywords, "minItems", "maxItems", pointer));
  // Vertex i: i elements so far; the last one: all elements of the prefix and some more.
  GraphExpr graph;
  const json::value* prefix = keywords.if_contains("prefixItems");
  const auto first_of_rest =
      static_cast<uint32_t>(prefix != nullptr ? std::min<size_t>(prefix->get_array().size(), times.max) : 0);
  graph.vertices = first_of_rest + 2;
  for (uint32_t i = 0; i < first_of_rest; ++i) {
    KVERN_TRY(const ExprId element,
              value(prefix->get_array()[i], fmt::format("{}/prefixItems/{}", pointer, i)));
    graph.edges.push_back({i, i + 1, i == 0 ? element : rules_.sequence({json_.comma(), element})});
  }
  for (uint32_t i = std::max(times.min, 1U); i <= first_of_rest; ++i) graph.accepting.push_back(i);
  const json::value* items = keywords.if_contains("items");
  if (times.max > first_of_rest && !is_false(items)) {
    KVERN_TRY(const ExprId element,
              items != nullptr ? value(*items, pointer + "/items") : Result<ExprId>(json_.any_value()));
    // The first element of all has no comma.
    const ExprId one = first_of_rest == 0 ? element : rules_.sequence({json_.comma(), element});
    const uint32_t taken = first_of_rest + 1;
    const Times more{.min = times.min > taken ? times.min - taken : 0,
                     .max = times.max == kUnlimited ? kUnlimited : times.max - taken};
    const RuleId rule = rules_.add_rule(pointer + "/items", rules_.sequence({json_.comma(), element}));
    graph.edges.push_back(
        {first_of_rest, taken, rules_.sequence({one, rules_.repeat(rules_.rule(rule), more)})});
    graph.accepting.push_back(taken);
  } else if (times.min > first_of_rest) {
    return schema_error(pointer, "minItems", "there cannot be so many items: no value is valid");
  }
  const ExprId content = rules_.sequence({rules_.graph(std::move(graph)), json_.space()});
  const ExprId body =
      rules_.sequence({rules_.bytes("["), json_.space(), times.min == 0 ? rules_.optional(content) : content,
                       rules_.bytes("]")});
  return rules_.rule(rules_.add_rule(pointer, body));
}

Result<std::optional<ExprId>> SchemaCompiler::other_property(const json::object& keywords,
                                                             const std::string& pointer) {
  const json::value* schema = keywords.if_contains("additionalProperties");
  // Without the keyword the standard allows any; who lists properties seldom wants more than those.
  if (is_false(schema) || (schema == nullptr && keywords.contains("properties"))) return std::nullopt;
  if (schema == nullptr) return json_.any_value();
  KVERN_TRY(const ExprId expr, value(*schema, pointer + "/additionalProperties"));
  return expr;
}

Result<std::vector<SchemaCompiler::Property>> SchemaCompiler::properties(const json::object& keywords,
                                                                         const std::string& pointer) {
  std::vector<Property> found;
  std::vector<std::string> required;
  if (const json::value* names = keywords.if_contains("required"))
    for (const json::value& name : names->get_array()) required.emplace_back(name.get_string());
  const auto is_required = [&](std::string_view name) {
    return std::ranges::find(required, name) != required.end();
  };
  if (const json::value* named = keywords.if_contains("properties")) {
    for (const auto& [name, schema] : named->get_object()) {
      if (is_false(&schema) && is_required(name))
        return schema_error(pointer, "required",
                            fmt::format("{:?} is required, but its schema is false", std::string_view(name)));
      KVERN_TRY(const ExprId expr, value(schema, child_pointer(pointer + "/properties", name)));
      found.push_back({.name = std::string(name),
                       .member = json_.member(json_.string_of(name), expr),
                       .required = is_required(name)});
    }
  }
  for (const std::string& name : required) {
    if (std::ranges::find(found, name, &Property::name) != found.end()) continue;
    // It is like any other that the schema does not describe.
    const json::value* schema = keywords.if_contains("additionalProperties");
    if (is_false(schema))
      return schema_error(pointer, "required",
                          fmt::format("{:?} is required, but additionalProperties is false", name));
    KVERN_TRY(const ExprId expr, schema != nullptr ? value(*schema, pointer + "/additionalProperties")
                                                   : Result<ExprId>(json_.any_value()));
    found.push_back({.name = name, .member = json_.member(json_.string_of(name), expr), .required = true});
  }
  return found;
}

ExprId SchemaCompiler::name_other_than(std::span<const Property> properties) {
  if (properties.empty()) return json_.any_string();
  NameTree tree;
  for (const Property& property : properties) tree.add(property.name);
  const auto free = static_cast<uint32_t>(tree.next.size());
  GraphExpr graph{.vertices = free + 1, .edges = {{free, free, json_.any_char()}}, .accepting = {free}};
  for (uint32_t at = 0; at < free; ++at) {
    if (!tree.is_name[at]) graph.accepting.push_back(at);
    CharSet known;
    for (const auto& [c, target] : tree.next[at]) {
      known = known.united(CharSet::of(c));
      graph.edges.push_back({at, target, json_.char_of(CharSet::of(c))});
    }
    graph.edges.push_back({at, free, json_.char_of(known.complement())});
  }
  const ExprId quote = rules_.bytes("\"");
  return rules_.rule(
      rules_.add_rule("json-name", rules_.sequence({quote, rules_.graph(std::move(graph)), quote})));
}

/// Members in the order of the schema; optional ones may be left out. Vertices: i, nothing has been written
/// and property i is next; n + 1 + i, something has, so a comma is next; 2n + 2 + i, property i itself.
ExprId SchemaCompiler::members(std::span<const Property> properties, std::optional<ExprId> other) {
  const auto count = static_cast<uint32_t>(properties.size());
  const auto first = [](uint32_t i) { return i; };
  const auto next = [count](uint32_t i) { return count + 1 + i; };
  const auto itself = [count](uint32_t i) { return 2 * count + 2 + i; };
  GraphExpr graph{.vertices = 3 * count + 4, .edges = {}, .accepting = {first(count)}};
  const uint32_t end = 3 * count + 3;
  for (uint32_t i = 0; i <= count; ++i) {
    if (i == count && !other) break;
    graph.edges.push_back({first(i), itself(i), rules_.empty()});
    graph.edges.push_back({next(i), itself(i), json_.comma()});
    if (i == count) break;
    graph.edges.push_back({itself(i), next(i + 1), properties[i].member});
    if (properties[i].required) continue;
    graph.edges.push_back({first(i), first(i + 1), rules_.empty()});
    graph.edges.push_back({next(i), next(i + 1), rules_.empty()});
  }
  if (other)
    graph.edges.push_back({itself(count), next(count), json_.member(name_other_than(properties), *other)});
  graph.edges.push_back({next(count), end, json_.space()});
  graph.accepting.push_back(end);
  return rules_.graph(std::move(graph));
}

Result<ExprId> SchemaCompiler::counted_members(ExprId member, Times times, const std::string& pointer) {
  if (times.max == 0) return rules_.empty();
  const RuleId more =
      rules_.add_rule(pointer + "/additionalProperties", rules_.sequence({json_.comma(), member}));
  const Times rest{.min = times.min > 0 ? times.min - 1 : 0,
                   .max = times.max == kUnlimited ? kUnlimited : times.max - 1};
  const ExprId some = rules_.sequence({member, rules_.repeat(rules_.rule(more), rest), json_.space()});
  return times.min == 0 ? rules_.optional(some) : some;
}

Result<ExprId> SchemaCompiler::object(const json::object& keywords, const std::string& pointer) {
  KVERN_TRY(const Times times, counts(keywords, "minProperties", "maxProperties", pointer));
  KVERN_TRY(const std::vector<Property> named, properties(keywords, pointer));
  KVERN_TRY(const std::optional<ExprId> other, other_property(keywords, pointer));
  ExprId content{};
  if (times.min == 0 && times.max == kUnlimited) {
    content = members(named, other);
  } else if (!named.empty() || !other) {
    return schema_error(pointer, times.min > 0 ? "minProperties" : "maxProperties",
                        "this is supported only where no property has a name of its own");
  } else {
    KVERN_TRY(content, counted_members(json_.member(json_.any_string(), *other), times, pointer));
  }
  const ExprId body = rules_.sequence({rules_.bytes("{"), json_.space(), content, rules_.bytes("}")});
  return rules_.rule(rules_.add_rule(pointer, body));
}

}  // namespace kvern::text::grammar
