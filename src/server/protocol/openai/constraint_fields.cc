#include "server/protocol/openai/constraint_fields.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "server/protocol/grammar_fields.h"

namespace kvern::server::openai {
namespace {

using Grammar = std::shared_ptr<const text::Grammar>;

Result<Grammar> read_schema_format(const json::object& object, const ProtocolContext& context) {
  ObjectReader reader(object, "response_format.json_schema");
  KVERN_TRY_STATUS(reader.required_string("name"));
  KVERN_TRY_STATUS(reader.string("description"));
  // The schema is enforced whatever this says.
  KVERN_TRY_STATUS(reader.boolean("strict"));
  const std::string path = reader.path_of("schema");
  KVERN_TRY(const json::object* schema, reader.object("schema"));
  KVERN_TRY_STATUS(reader.finish());
  return schema == nullptr ? read_json_object(path, context) : read_json_schema(*schema, path, context);
}

Result<Grammar> read_response_format(const json::object& object, const ProtocolContext& context) {
  ObjectReader reader(object, "response_format");
  KVERN_TRY(const auto type, reader.word("type", {"text", "json_object", "json_schema"}));
  if (!type) {
    return fail(ErrorCode::kInvalidArgument, "response_format.type: expected a string, but it is missing",
                "response_format.type");
  }
  KVERN_TRY(const json::object* schema, reader.object("json_schema"));
  KVERN_TRY_STATUS(reader.finish());
  if (*type == "json_schema") {
    if (schema == nullptr) {
      return fail(ErrorCode::kInvalidArgument,
                  "response_format.json_schema: expected an object, but it is missing",
                  "response_format.json_schema");
    }
    return read_schema_format(*schema, context);
  }
  if (schema != nullptr) {
    return fail(ErrorCode::kInvalidArgument,
                "response_format.json_schema: only allowed with the type \"json_schema\"",
                "response_format.json_schema");
  }
  if (*type == "text") return nullptr;
  return read_json_object("response_format", context);
}

}  // namespace

Result<Grammar> read_constraint(ObjectReader& body, const ProtocolContext& context) {
  KVERN_TRY(const json::object* format, body.object("response_format"));
  KVERN_TRY(const auto gbnf, body.string("grammar"));
  KVERN_TRY(const json::object* schema, body.object("json_schema"));
  if ((gbnf && schema != nullptr) || (format != nullptr && (gbnf || schema != nullptr))) {
    const std::string path = gbnf ? "grammar" : "json_schema";
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: only one of response_format, grammar and json_schema may be given", path),
                path);
  }
  if (format != nullptr) return read_response_format(*format, context);
  if (gbnf) return read_gbnf(*gbnf, "grammar", context);
  if (schema != nullptr) return read_json_schema(*schema, "json_schema", context);
  return nullptr;
}

}  // namespace kvern::server::openai
