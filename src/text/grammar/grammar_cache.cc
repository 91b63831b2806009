#include "text/grammar/grammar_cache.h"

#include <fmt/format.h>

namespace kvern::text {
namespace {

/// Lengths first, so that no two lists of texts have one key.
void append_part(std::string& key, std::string_view part) { key += fmt::format("{}:{}", part.size(), part); }

std::string key_of(const Structure& structure) {
  std::string key = fmt::format("structure {} {} {}{}{} ", structure.min_parts, structure.max_parts,
                                structure.free_before ? 1 : 0, structure.free_between ? 1 : 0,
                                structure.free_after ? 1 : 0);
  append_part(key, structure.separator);
  key += fmt::format("{} ", structure.triggers.size());
  for (const std::string& trigger : structure.triggers) append_part(key, trigger);
  for (const StructuredPart& part : structure.parts) {
    append_part(key, part.begin);
    append_part(key, json::serialize(part.schema));
    append_part(key, part.end);
  }
  return key;
}

}  // namespace

GrammarCache::GrammarCache(std::shared_ptr<const GrammarVocabulary> vocabulary, size_t max_bytes)
    : vocabulary_(std::move(vocabulary)), max_bytes_(max_bytes) {}

GrammarCache::Made GrammarCache::gbnf(std::string_view text) {
  return get("gbnf " + std::string(text), [&] { return Grammar::from_gbnf(text, vocabulary_); });
}

GrammarCache::Made GrammarCache::json_schema(const json::value& schema) {
  return get("schema " + json::serialize(schema),
             [&] { return Grammar::from_json_schema(schema, vocabulary_); });
}

GrammarCache::Made GrammarCache::json_object() {
  return get("object", [&] { return Grammar::any_json_object(vocabulary_); });
}

GrammarCache::Made GrammarCache::structure(const Structure& structure) {
  return get(key_of(structure), [&] { return Grammar::from_structure(structure, vocabulary_); });
}

GrammarCache::Made GrammarCache::get(const std::string& key, const std::function<Made()>& make) {
  {
    const MutexLock lock(mutex_);
    while (true) {
      const auto [entry, is_new] = entries_.try_emplace(key);
      if (is_new) break;  // ours to make
      if (entry->second.grammar != nullptr) {
        order_.splice(order_.begin(), order_, entry->second.place);
        return entry->second.grammar;
      }
      made_.wait(mutex_);
    }
  }
  Made made;
  try {
    made = make();
  } catch (...) {  // Whoever waits must not wait for ever.
    keep(key, fail(ErrorCode::kInternal, "was not made"));
    throw;
  }
  keep(key, made);
  return made;
}

void GrammarCache::keep(const std::string& key, const Made& made) {
  const MutexLock lock(mutex_);
  const auto entry = entries_.find(key);
  if (!made) {
    // Whoever waits for it tries for itself, and gets the error too.
    entries_.erase(entry);
    made_.notify_all();
    return;
  }
  order_.push_front(key);
  entry->second = {.grammar = *made, .place = order_.begin()};
  while (order_.size() > 1 && bytes() > max_bytes_) drop_oldest();
  made_.notify_all();
}

void GrammarCache::drop_oldest() {
  entries_.erase(order_.back());
  order_.pop_back();
}

size_t GrammarCache::bytes() const {
  size_t bytes = 0;
  for (const auto& [key, entry] : entries_)
    if (entry.grammar != nullptr) bytes += key.size() + entry.grammar->memory_bytes();
  return bytes;
}

size_t GrammarCache::size() const {
  const MutexLock lock(mutex_);
  return order_.size();
}

size_t GrammarCache::memory_bytes() const {
  const MutexLock lock(mutex_);
  return bytes();
}

}  // namespace kvern::text
