// JSON Schema by another way than grammars: a validator, and a generator of valid documents.
#pragma once

#include <random>
#include <string>

#include "base/json.h"

namespace kvern::test {

/// Whether a value is valid under a schema, for the keywords of docs/structured-output.md, as the standard
/// says (so additionalProperties defaults to true). Throws std::logic_error for a keyword that it does not
/// know.
bool is_valid(const json::value& value, const json::value& schema, const json::value& document);

/// A document that is valid under a schema and in the form that grammars write: properties in order, none
/// that the schema does not name unless it says so. Strings for patterns come from "examples". Nothing is
/// known of allOf.
class DocumentMaker {
 public:
  DocumentMaker(const json::value& document, uint32_t seed) : document_(document), random_(seed) {}
  json::value make() { return value(document_, 0); }

 private:
  json::value value(const json::value& schema, int depth);
  json::value of_type(std::string_view type, const json::object& schema, int depth);
  json::value number(const json::object& schema, bool integer);
  json::value string(const json::object& schema);
  json::value any(int depth);
  size_t below(size_t count) { return random_() % count; }

  const json::value& document_;
  std::mt19937 random_;
};

/// As compact text, or with a space behind : and ,, or over lines with indents.
enum class Layout : uint8_t { kCompact, kSpaced, kIndented };
std::string to_text(const json::value& value, Layout layout, int depth = 0);

/// The value with something small changed somewhere.
json::value mutated(const json::value& value, std::mt19937& random);

}  // namespace kvern::test
