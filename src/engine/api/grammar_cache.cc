#include "engine/api/grammar_cache.h"

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace kvern::engine {

GrammarCache::GrammarCache(const Engine& engine, size_t most_grammars)
    : engine_(engine), most_grammars_(std::max<size_t>(1, most_grammars)) {}

Result<GrammarCache::Grammar> GrammarCache::gbnf(std::string_view text) { return get(Kind::kGbnf, text); }

Result<GrammarCache::Grammar> GrammarCache::json_schema(std::string_view text) {
  return get(Kind::kJsonSchema, text);
}

Result<GrammarCache::Grammar> GrammarCache::get(Kind kind, std::string_view text) {
  if (Grammar known = find(kind, text)) return known;
  auto made = make(kind, text);
  if (!made) {
    Error error = std::move(made).error();
    const std::string name = kind == Kind::kGbnf ? "grammar" : "json_schema";
    error.where = error.where.empty() ? name : name + ": " + error.where;
    // A text that is no JSON is the caller's mistake, not damage.
    if (error.code == ErrorCode::kCorrupt) error.code = ErrorCode::kInvalidArgument;
    return std::unexpected(std::move(error));
  }
  keep({.kind = kind, .text = std::string(text), .grammar = *made});
  return made;
}

GrammarCache::Grammar GrammarCache::find(Kind kind, std::string_view text) {
  const MutexLock lock(mutex_);
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (it->kind != kind || it->text != text) continue;
    entries_.splice(entries_.begin(), entries_, it);
    return it->grammar;
  }
  return nullptr;
}

void GrammarCache::keep(Entry entry) {
  const MutexLock lock(mutex_);
  entries_.push_front(std::move(entry));
  if (entries_.size() > most_grammars_) entries_.pop_back();
}

Result<GrammarCache::Grammar> GrammarCache::make(Kind kind, std::string_view text) {
  KVERN_TRY(const auto words, vocabulary());
  if (kind == Kind::kGbnf) return text::Grammar::from_gbnf(text, words);
  KVERN_TRY(const json::value schema, parse_json(text, ""));
  return text::Grammar::from_json_schema(schema, words);
}

Result<std::shared_ptr<const text::GrammarVocabulary>> GrammarCache::vocabulary() {
  if (engine_.tokenizer() == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "grammars need a tokenizer, and this model has none");
  }
  const MutexLock lock(mutex_);
  if (vocabulary_ == nullptr) {
    const auto size = static_cast<size_t>(engine_.model().config().vocab);
    vocabulary_ = text::GrammarVocabulary::create(*engine_.tokenizer(), size, engine_.end_tokens());
  }
  return vocabulary_;
}

}  // namespace kvern::engine
