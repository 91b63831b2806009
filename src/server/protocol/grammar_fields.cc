#include "server/protocol/grammar_fields.h"

#include <utility>

#include <fmt/format.h>

namespace kvern::server {
namespace {

using Made = text::GrammarSource::Made;

Result<text::GrammarSource*> source(const ProtocolContext& context, const std::string& path) {
  if (context.grammars != nullptr) return context.grammars;
  return fail(ErrorCode::kUnsupported,
              fmt::format("{}: this model has no tokenizer to make grammars for", path), path);
}

/// A grammar's own error says where in it; the client is told in which field it stands.
Made named(Made grammar, const std::string& path) {
  if (grammar) return grammar;
  Error error = std::move(grammar).error();
  error.message = fmt::format("{}: {}", path, error.to_string());
  error.where = path;
  if (error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kExhausted)
    error.code = ErrorCode::kInvalidArgument;
  return std::unexpected(std::move(error));
}

}  // namespace

Made read_gbnf(std::string_view text, const std::string& path, const ProtocolContext& context) {
  KVERN_TRY(text::GrammarSource * grammars, source(context, path));
  return named(grammars->gbnf(text), path);
}

Made read_json_schema(const json::value& schema, const std::string& path, const ProtocolContext& context) {
  KVERN_TRY(text::GrammarSource * grammars, source(context, path));
  return named(grammars->json_schema(schema), path);
}

Made read_json_object(const std::string& path, const ProtocolContext& context) {
  KVERN_TRY(text::GrammarSource * grammars, source(context, path));
  return named(grammars->json_object(), path);
}

}  // namespace kvern::server
