// What a store goes through in the crash and fault tests, and what must hold of it at every moment.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "store/entries.h"

namespace kvern::store::test {

/// How many cases to try: KVERN_CASES in the environment, or what the build says.
inline uint64_t cases(uint64_t otherwise) {
  const char* text = std::getenv("KVERN_CASES");
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Which of the cases this process tries: number `index` and every `count`-th after it.
/// KVERN_SHARD=index/count in the environment; all of them without.
struct Shard {
  uint64_t index = 0;
  uint64_t count = 1;
};
inline Shard shard() {
  const char* text = std::getenv("KVERN_SHARD");
  if (text == nullptr) return {};
  char* end = nullptr;
  const uint64_t index = std::strtoull(text, &end, 10);
  const uint64_t count = *end == '/' ? std::strtoull(end + 1, nullptr, 10) : 0;
  KVERN_CHECK(index < count);
  return {index, count};
}

/// A prefix that the workload saves.
struct KnownPrefix {
  std::shared_ptr<const PrefixSpace> space;
  std::vector<int32_t> tokens;
  EntryKind kind;

  std::vector<int32_t> prompt() const {
    std::vector<int32_t> with_more = tokens;
    with_more.push_back(49999);
    return with_more;
  }
};

/// Which known prefixes must be found whole from some moment on, and which must not be found.
struct Promise {
  size_t from = 0;  ///< calls recorded before
  std::vector<bool> found;
  std::vector<bool> gone;
};

/// Saves, replaces, erases, evicts, collects, reopens. Errors are passed over: with files that fail, what
/// counts is what can be read afterwards.
class Workload {
 public:
  Workload(Files& files, std::function<size_t()> calls) : calls_(std::move(calls)) {
    place_.files.reset();
    io_ = make_files_io(files);
    parts_ = std::make_unique<DiskParts>(DiskParts{files, *io_, place_.clock, place_.log});
    options_ = place_.options;
    options_.limit_of = LimitOf::kEntries;
    const auto a = space_named("a");
    const auto b = space_named("b");
    known_ = {{a, tokens_of(40, 1), {}},
              {a, tokens_of(64, 1), {}},
              {a, tokens_of(50, 2), {.window = 10}},
              {b, tokens_of(40, 1), {.recurrent = true}},
              {b, tokens_of(33, 3), {}},
              {a, tokens_of(70, 4), {.window = 20}}};
    promises_.push_back({0, std::vector<bool>(known_.size()), std::vector<bool>(known_.size())});
  }

  const std::vector<KnownPrefix>& known() const { return known_; }
  const std::vector<Promise>& promises() const { return promises_; }

  void run() {
    if (!reopen()) return;
    put(0);
    put(2);
    loses(0);  // a longer entry takes its place, which is found for its prompt as well
    put(1);
    may_be_found(0);
    put(3);
    erase(2);
    collect();
    if (!reopen()) return;
    put(4);
    loses(1);
    loses(3);
    loses(4);
    static_cast<void>(store_->set_max_bytes(70000));
    put(5);
    static_cast<void>(store_->set_max_bytes(0));
    put(2);
    put(1);
    store_.reset();
  }

 private:
  bool reopen() {
    store_.reset();
    auto opened = DiskStore::open(*parts_, options_);
    if (opened) store_ = *std::move(opened);
    return opened.has_value();
  }
  void promise(const std::function<void(Promise&)>& change) {
    Promise next = promises_.back();
    next.from = calls_();
    change(next);
    promises_.push_back(std::move(next));
  }
  void loses(size_t i) {
    promise([&](Promise& p) { p.found[i] = false; });
  }
  void may_be_found(size_t i) { loses(i); }
  void put(size_t i) {
    place_.clock.advance(std::chrono::seconds(1));
    promise([&](Promise& p) { p.gone[i] = false; });
    const auto saved = store_->put(make_entry(known_[i].space, known_[i].tokens, known_[i].kind));
    if (saved && *saved != PutOutcome::kTooLarge) {
      promise([&](Promise& p) { p.found[i] = true; });
    }
  }
  void erase(size_t i) {
    loses(i);
    const auto hit = store_->find(*known_[i].space, known_[i].prompt());
    if (!hit || !*hit) return;
    if (store_->erase((*hit)->manifest)) {
      promise([&](Promise& p) { p.gone[i] = true; });
    }
  }
  void collect() { static_cast<void>(store_->collect()); }

  std::function<size_t()> calls_;
  Place place_;
  std::unique_ptr<BlockIo> io_;
  std::unique_ptr<DiskParts> parts_;
  DiskOptions options_;
  std::unique_ptr<DiskStore> store_;
  std::vector<KnownPrefix> known_;
  std::vector<Promise> promises_;
};

/// Opens what is left and looks at all known prefixes: empty, or what is wrong. `promise` may be null: then
/// only wrong bytes are wrong.
struct Inspection {
  std::string problem;
  bool index_was_remade = false;
  int64_t found = 0;
  int64_t saved = 0;  ///< once more, with `use`
  int64_t found_saved = 0;
};

inline Inspection inspect(Files& files, const std::vector<KnownPrefix>& known, const Promise* promise,
                          bool use) {
  Inspection result;
  Place place;
  const auto io = make_files_io(files);
  const DiskParts parts{files, *io, place.clock, place.log};
  auto opened = DiskStore::open(parts, place.options);
  if (!opened) {
    result.problem = "cannot be opened: " + opened.error().to_string();
    return result;
  }
  DiskStore& store = **opened;
  result.index_was_remade = place.log.text().find("made again") != std::string::npos;
  const auto look = [&](size_t i) {
    const auto hit = store.find(*known[i].space, known[i].prompt());
    if (!hit) return int64_t{-2};
    return *hit ? restored_tokens(store, *known[i].space, known[i].prompt(), **hit) : int64_t{0};
  };
  const auto complain = [&](size_t i, const std::string& what) {
    if (result.problem.empty())
      result.problem = "prefix " + std::to_string(i) + " " + what + "\n" + place.log.text();
  };
  for (size_t i = 0; i < known.size(); ++i) {
    const int64_t got = look(i);
    if (got == -1) complain(i, "has the bytes of something else");
    if (got == std::ssize(known[i].tokens)) ++result.found;
    if (promise == nullptr) continue;
    if (got == -2) complain(i, "cannot be looked up");
    if (promise->found[i] && got != std::ssize(known[i].tokens))
      complain(i, "is lost: " + std::to_string(got));
    if (promise->gone[i] && got == std::ssize(known[i].tokens)) complain(i, "has come back");
  }
  if (!use) return result;
  // It goes on as if nothing had happened. After damage a prefix may be missed that was saved once more: when
  // another file of it turns out to be damaged, or the index is wrong in a way that is not seen; never more.
  for (size_t i = 0; i < known.size(); ++i) {
    const auto saved = store.put(make_entry(known[i].space, known[i].tokens, known[i].kind));
    if (!saved) complain(i, "cannot be saved: " + saved.error().to_string());
    const int64_t got = look(i);
    if (got < 0) complain(i, "has the bytes of something else, or cannot be looked up, after it was saved");
    ++result.saved;
    if (got == std::ssize(known[i].tokens)) {
      ++result.found_saved;
    } else if (promise != nullptr) {
      complain(i, "is not found after it was saved");
    }
  }
  const auto verified = store.verify();
  if (promise != nullptr && (!verified || !verified->problems.empty())) complain(0, "and others are damaged");
  if (!store.collect()) complain(0, "and others cannot be collected");
  for (size_t i = 1; i < known.size(); ++i) {
    const int64_t got = look(i);
    if (got < 0 || (promise != nullptr && got != std::ssize(known[i].tokens)))
      complain(i, "is lost by collecting");
  }
  return result;
}

}  // namespace kvern::store::test
