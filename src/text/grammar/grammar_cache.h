// Compiled grammars of one model, each made once.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "text/grammar/grammar_source.h"

namespace kvern::text {

/// Keeps the grammars that were used last. Thread-safe: of several threads that ask for the same one, one
/// makes it and the others wait. Errors are not kept.
class GrammarCache final : public GrammarSource {
 public:
  /// `max_bytes` of grammars are kept, and the one used last in any case. A grammar grows as it is used: what
  /// it takes is counted again at each call.
  GrammarCache(std::shared_ptr<const GrammarVocabulary> vocabulary, size_t max_bytes);

  Made gbnf(std::string_view text) override;
  Made json_schema(const json::value& schema) override;
  Made json_object() override;
  Made structure(const Structure& structure) override;

  const std::shared_ptr<const GrammarVocabulary>& vocabulary() const { return vocabulary_; }
  size_t size() const;
  size_t memory_bytes() const;

 private:
  struct Entry {
    /// Nothing while it is made.
    std::shared_ptr<const Grammar> grammar;
    /// Its place in order_, once it is made.
    std::list<std::string>::iterator place;
  };

  Made get(const std::string& key, const std::function<Made()>& make);
  void keep(const std::string& key, const Made& made);
  void drop_oldest() KVERN_REQUIRES(mutex_);
  size_t bytes() const KVERN_REQUIRES(mutex_);

  const std::shared_ptr<const GrammarVocabulary> vocabulary_;
  const size_t max_bytes_;
  mutable Mutex mutex_;
  std::condition_variable_any made_;
  std::map<std::string, Entry> entries_ KVERN_GUARDED_BY(mutex_);
  std::list<std::string> order_ KVERN_GUARDED_BY(mutex_);  ///< Keys; used last is first.
};

}  // namespace kvern::text
