// Finished responses that later requests may refer to, in memory.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/mutex.h"

namespace kvern::server::responses {

/// What one response added to its conversation: two JSON arrays of items, as text.
struct Turn {
  std::string input;
  std::string output;
};
/// A conversation, the oldest turn first. Turns are shared by the responses that go on from them.
using Turns = std::vector<std::shared_ptr<const Turn>>;

struct StoredResponse {
  std::string body;  ///< the response, as JSON text
  Turns turns;       ///< the last one is its own
  uint64_t run = 0;  ///< its name in the journal; 0: it is not there
};

/// Bounded in number, bytes and age; the oldest are forgotten first. A response is seen only by the client
/// whose key asked for it. Thread-safe.
class ResponseStore {
 public:
  struct Limits {
    size_t max_responses = 1000;
    size_t max_bytes = size_t{64} << 20;  ///< of all texts, shared ones once
    std::chrono::milliseconds kept_for{std::chrono::hours(24)};
  };
  /// The clock outlives it.
  ResponseStore(const Clock& clock, const Limits& limits) : clock_(clock), limits_(limits) {}

  /// As make_turn() of two texts.
  std::shared_ptr<const Turn> make_turn(Turn turn);
  /// Its bytes count as long as anybody holds it.
  std::shared_ptr<const Turn> make_turn(const json::array& input, const json::array& output);
  /// Keeps it, unless it alone is larger than the store.
  void put(const std::string& client, const std::string& id, StoredResponse response);
  std::optional<StoredResponse> find(const std::string& client, const std::string& id);
  /// False if there was none. Responses that go on from it keep their conversation.
  bool erase(const std::string& client, const std::string& id);

  size_t size() const;
  size_t bytes() const { return *bytes_; }

 private:
  struct Entry {
    std::string client;
    std::string id;
    StoredResponse response;
    size_t bytes = 0;  // without the turns
    std::chrono::steady_clock::time_point stored;
  };
  using Entries = std::list<Entry>;  // the oldest first

  void forget(Entries::iterator entry) KVERN_REQUIRES(mutex_);
  void forget_old() KVERN_REQUIRES(mutex_);
  /// Null when there is none of this client.
  Entry* entry_of(const std::string& client, const std::string& id) KVERN_REQUIRES(mutex_);

  const Clock& clock_;
  const Limits limits_;
  const std::shared_ptr<std::atomic<size_t>> bytes_ = std::make_shared<std::atomic<size_t>>(0);
  mutable Mutex mutex_;
  Entries entries_ KVERN_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Entries::iterator> by_id_ KVERN_GUARDED_BY(mutex_);
};

}  // namespace kvern::server::responses
