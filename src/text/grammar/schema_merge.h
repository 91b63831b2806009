// JSON Schemas that hold together, as one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kvern::text::grammar {

/// An error about a keyword of a schema; `pointer` is that of the schema ("#/properties/a").
std::unexpected<Error> schema_error(const std::string& pointer, std::string_view keyword,
                                    std::string message);
/// pointer/key with the escapes of RFC 6901.
std::string child_pointer(const std::string& pointer, std::string_view key);

/// What is kept apart from a schema's own keywords: `pattern` and `format` of all schemas that hold, as an
/// array of patterns.
inline constexpr std::string_view kPatterns = "$patterns";

/// The keywords of a schema that stand for themselves, with what has two spellings in one: `type` is an
/// array, `const` an `enum`, `pattern` and `format` are kPatterns, `nullable` is in `type`; references,
/// anyOf, oneOf, allOf and annotations are left out. Errors: a keyword that is not supported or has a wrong
/// type.
Result<json::object> own_keywords(const json::object& schema, const std::string& pointer);

/// Keywords (as own_keywords() gives them) that hold together. Nothing where no value is valid under both.
std::optional<json::object> merge(const json::object& a, const json::object& b);

/// "string", "integer", "number", "boolean", "null", "array", "object": what `type` says, or else what the
/// keywords are about; empty where anything is valid.
std::vector<std::string> types_of(const json::object& keywords);
/// Whether a value is of a type; an integer is a number too.
bool is_of_type(const json::value& value, std::string_view type);

}  // namespace kvern::text::grammar
