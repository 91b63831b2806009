// How schema_rules.h is done.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/grammar/expression.h"
#include "text/grammar/json_rules.h"

namespace kvern::text::grammar {

/// Borrows the schema and the rules. One thread.
class SchemaCompiler {
 public:
  SchemaCompiler(const json::value& document, Rules& rules)
      : document_(document), rules_(rules), json_(rules) {}

  /// Values that are valid under a schema of the document.
  Result<ExprId> value(const json::value& schema, const std::string& pointer);

 private:
  using Alternatives = std::vector<json::object>;

  Result<ExprId> object_schema(const json::object& schema, const std::string& pointer);
  Result<ExprId> reference(const json::value& target, const std::string& pointer);
  /// The schema that a $ref names, and its pointer.
  Result<std::pair<const json::value*, std::string>> resolve(const json::value& reference,
                                                             const std::string& pointer) const;
  /// Values of any of these schemas.
  Result<ExprId> any_of(const json::value& schemas, const std::string& pointer);

  /// A schema as alternatives without references, anyOf and allOf; none where nothing is valid.
  Result<Alternatives> expand(const json::value& schema, const std::string& pointer);
  Result<Alternatives> expand_any(const json::value& schemas, const std::string& pointer);
  Status restrict(Alternatives& alternatives, const Alternatives& others, const std::string& pointer) const;

  /// Values under keywords that stand for themselves (schema_merge.h).
  Result<ExprId> keywords(const json::object& keywords, const std::string& pointer);
  Result<ExprId> one_type(std::string_view type, const json::object& keywords, const std::string& pointer);
  Result<ExprId> values(const json::object& keywords, const std::string& pointer);
  Result<ExprId> number(const json::object& keywords, const std::string& pointer, bool integer);
  Result<ExprId> string(const json::object& keywords, const std::string& pointer);
  Result<ExprId> string_with_patterns(const json::array& patterns, Times length, const std::string& pointer);
  Result<ExprId> array(const json::object& keywords, const std::string& pointer);
  Result<ExprId> object(const json::object& keywords, const std::string& pointer);

  struct Property {
    std::string name;
    ExprId member{};
    bool required = false;
  };
  Result<std::vector<Property>> properties(const json::object& keywords, const std::string& pointer);
  /// What a property without a name of its own must be; nothing where there are no such.
  Result<std::optional<ExprId>> other_property(const json::object& keywords, const std::string& pointer);
  ExprId name_other_than(std::span<const Property> properties);
  ExprId members(std::span<const Property> properties, std::optional<ExprId> other);
  Result<ExprId> counted_members(ExprId member, Times times, const std::string& pointer);

  /// minX and maxX as counts. Error: the least is more than the most.
  Result<Times> counts(const json::object& keywords, std::string_view min, std::string_view max,
                       const std::string& pointer) const;

  const json::value& document_;
  Rules& rules_;
  JsonRules json_;
  /// Rules of schemas that are referred to, by pointer.
  std::map<std::string, RuleId> references_;
  uint32_t depth_ = 0;
  uint32_t expanded_ = 0;  // schemas that were merged with others, each as often as it is named
};

}  // namespace kvern::text::grammar
