#include "server/protocol/openai/constraint_fields.h"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace kvern::server::openai {
namespace {

using Grammar = std::shared_ptr<const text::Grammar>;

Result<GrammarSource*> source(const ProtocolContext& context, const std::string& path) {
  if (context.grammars != nullptr) return context.grammars;
  return fail(ErrorCode::kUnsupported,
              fmt::format("{}: this model has no tokenizer to make grammars for", path), path);
}

/// A grammar's own error says where in it; the client is told in which field it stands.
Result<Grammar> named(Result<Grammar> grammar, const std::string& path) {
  if (grammar) return grammar;
  Error error = std::move(grammar).error();
  error.message = fmt::format("{}: {}", path, error.to_string());
  error.where = path;
  if (error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kExhausted)
    error.code = ErrorCode::kInvalidArgument;
  return std::unexpected(std::move(error));
}

Result<Grammar> read_json_schema(const json::object& object, const ProtocolContext& context) {
  ObjectReader reader(object, "response_format.json_schema");
  KVERN_TRY_STATUS(reader.required_string("name"));
  KVERN_TRY_STATUS(reader.string("description"));
  // The schema is enforced whatever this says.
  KVERN_TRY_STATUS(reader.boolean("strict"));
  const std::string path = reader.path_of("schema");
  KVERN_TRY(const json::object* schema, reader.object("schema"));
  KVERN_TRY_STATUS(reader.finish());
  KVERN_TRY(GrammarSource * grammars, source(context, path));
  return named(schema == nullptr ? grammars->json_object() : grammars->json_schema(*schema), path);
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
    return read_json_schema(*schema, context);
  }
  if (schema != nullptr) {
    return fail(ErrorCode::kInvalidArgument,
                "response_format.json_schema: only allowed with the type \"json_schema\"",
                "response_format.json_schema");
  }
  if (*type == "text") return nullptr;
  KVERN_TRY(GrammarSource * grammars, source(context, "response_format"));
  return named(grammars->json_object(), "response_format");
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
  if (gbnf) {
    KVERN_TRY(GrammarSource * grammars, source(context, "grammar"));
    return named(grammars->gbnf(*gbnf), "grammar");
  }
  if (schema != nullptr) {
    KVERN_TRY(GrammarSource * grammars, source(context, "json_schema"));
    return named(grammars->json_schema(*schema), "json_schema");
  }
  return nullptr;
}

}  // namespace kvern::server::openai
