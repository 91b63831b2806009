#include "engine/api/request_grammars.h"

#include <utility>

#include "base/json.h"
#include "engine/load/grammars.h"

namespace kvern::engine {
namespace {

Result<RequestGrammars::Grammar> named(Result<RequestGrammars::Grammar> made, const std::string& name) {
  if (made) return made;
  Error error = std::move(made).error();
  error.where = error.where.empty() ? name : name + ": " + error.where;
  // A text that is no JSON is the caller's mistake, not damage.
  if (error.code == ErrorCode::kCorrupt) error.code = ErrorCode::kInvalidArgument;
  return std::unexpected(std::move(error));
}

}  // namespace

Result<RequestGrammars::Grammar> RequestGrammars::gbnf(std::string_view text) {
  KVERN_TRY(text::GrammarCache * grammars, cache());
  return named(grammars->gbnf(text), "grammar");
}

Result<RequestGrammars::Grammar> RequestGrammars::json_schema(std::string_view text) {
  KVERN_TRY(text::GrammarCache * grammars, cache());
  const auto schema = parse_json(text, "");
  if (!schema) return named(std::unexpected(schema.error()), "json_schema");
  return named(grammars->json_schema(*schema), "json_schema");
}

Result<text::GrammarCache*> RequestGrammars::cache() {
  std::call_once(once_, [this] { cache_ = make_grammar_cache(engine_); });
  if (cache_ != nullptr) return cache_.get();
  return fail(ErrorCode::kInvalidArgument, "grammars need a tokenizer, and this model has none");
}

}  // namespace kvern::engine
