#include "server/protocol/compiled_grammars.h"

#include <algorithm>
#include <utility>

namespace kvern::server {
namespace {

/// Two structures have the same text only if they are the same.
std::string text_of(const text::Structure& structure) {
  json::array parts;
  for (const text::StructuredPart& part : structure.parts)
    parts.push_back({part.begin, part.schema, part.end});
  json::array triggers;
  for (const std::string& trigger : structure.triggers) triggers.push_back(json::value(trigger));
  return to_json(json::array{std::move(parts), structure.min_parts, structure.max_parts,
                             json::value(structure.separator), structure.free_before, structure.free_between,
                             structure.free_after, std::move(triggers)});
}

}  // namespace

CompiledGrammars::CompiledGrammars(std::shared_ptr<const text::GrammarVocabulary> vocabulary, Limits limits)
    : vocabulary_(std::move(vocabulary)), limits_(limits) {}

std::unique_ptr<CompiledGrammars> CompiledGrammars::create(const engine::Engine& engine) {
  if (engine.tokenizer() == nullptr) return nullptr;
  const auto logits = static_cast<size_t>(engine.model().config().vocab);
  return std::make_unique<CompiledGrammars>(
      text::GrammarVocabulary::create(*engine.tokenizer(), logits, engine.end_tokens()), Limits{});
}

Result<GrammarSource::Grammar> CompiledGrammars::gbnf(std::string_view text) {
  return find_or_compile("g" + std::string(text),
                         [&] { return text::Grammar::from_gbnf(text, vocabulary_); });
}

Result<GrammarSource::Grammar> CompiledGrammars::json_schema(const json::value& schema) {
  return find_or_compile("s" + to_json(schema),
                         [&] { return text::Grammar::from_json_schema(schema, vocabulary_); });
}

Result<GrammarSource::Grammar> CompiledGrammars::json_object() {
  return find_or_compile("o", [&] { return text::Grammar::any_json_object(vocabulary_); });
}

Result<GrammarSource::Grammar> CompiledGrammars::structure(const text::Structure& structure) {
  return find_or_compile("t" + text_of(structure),
                         [&] { return text::Grammar::from_structure(structure, vocabulary_); });
}

size_t CompiledGrammars::size() const {
  const MutexLock lock(mutex_);
  return entries_.size();
}

Result<GrammarSource::Grammar> CompiledGrammars::find_or_compile(
    std::string key, const std::function<Result<Grammar>()>& compile) {
  if (Grammar kept = find(key)) return kept;
  KVERN_TRY(Grammar grammar, compile());
  keep(std::move(key), grammar);
  return grammar;
}

GrammarSource::Grammar CompiledGrammars::find(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->grammar;
}

void CompiledGrammars::keep(std::string key, const Grammar& grammar) {
  const MutexLock lock(mutex_);
  if (by_key_.contains(key)) return;
  entries_.push_front({.key = std::move(key), .grammar = grammar});
  by_key_[entries_.front().key] = entries_.begin();
  forget_surplus();
}

void CompiledGrammars::forget_surplus() {
  // Grammars grow while they are used, so they are measured anew.
  size_t bytes = 0;
  for (const Entry& entry : entries_) bytes += entry.grammar->memory_bytes() + entry.key.size();
  while (entries_.size() > 1 && (entries_.size() > limits_.max_grammars || bytes > limits_.max_bytes)) {
    const Entry& last = entries_.back();
    bytes -= std::min(bytes, last.grammar->memory_bytes() + last.key.size());
    by_key_.erase(last.key);
    entries_.pop_back();
  }
}

}  // namespace kvern::server
