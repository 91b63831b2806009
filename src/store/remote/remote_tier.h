// A RemoteStore as a tier.
//
// A thread of this tier asks the server. ready() lets it begin and says when the answer is there, for who
// must not wait at all; lookup() takes that answer, or waits for one some milliseconds: what comes later is a
// miss. While the server is left alone (see CircuitBreaker) lookups are misses and offers are declined at
// once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "store/remote/remote_store.h"
#include "store/tier/restore_queue.h"
#include "store/tier/tier.h"
#include "store/tier/write_queue.h"

namespace kvern::store {

struct RemoteTierOptions {
  WriteQueueOptions writes;
  RestoreQueueOptions restores;
  /// What lookup() may wait.
  std::chrono::milliseconds lookup_wait{5};
};

class RemoteTier final : public Tier {
 public:
  /// Borrowed: `store`, `log`.
  RemoteTier(RemoteStore& store, LogSink& log, const RemoteTierOptions& options);
  ~RemoteTier() override;

  bool offer(NewEntry entry) override;
  void set_busy(bool busy) override { writes_.set_busy(busy); }
  /// Keeps the answer for lookup(), some time longer than lookup_wait.
  bool ready(const std::shared_ptr<const PrefixSpace>& space, std::span<const int32_t> prompt) override;
  std::optional<TierHit> lookup(std::shared_ptr<const PrefixSpace> space, std::span<const int32_t> prompt,
                                int64_t more_than) override;
  /// What this process saved itself and has not missed since. Asks nobody.
  bool covers(const PrefixSpace& space, std::span<const int32_t> tokens) override;
  Status erase(const PrefixSpace& space, std::span<const int32_t> tokens) override;
  void distrust(std::shared_ptr<const PrefixSpace> space, std::vector<int32_t> tokens) override {
    restores_.distrust(std::move(space), std::move(tokens));
  }
  FlushReport flush(std::chrono::steady_clock::time_point deadline) override {
    return writes_.flush(deadline);
  }
  TierStats stats() override;

 private:
  struct Question {
    std::shared_ptr<const PrefixSpace> space;     // constant
    std::vector<int32_t> prompt;                  // constant
    std::chrono::steady_clock::time_point until;  // constant: what is answered later is a miss
    bool answered = false;
    std::optional<IndexHit> hit;
  };
  Result<bool> save(const NewEntry& entry);
  void answer_questions();
  std::shared_ptr<Question> ask(const std::shared_ptr<const PrefixSpace>& space,
                                std::span<const int32_t> prompt) KVERN_REQUIRES(mutex_);
  std::shared_ptr<Question> asked_ahead(const PrefixSpace& space, std::span<const int32_t> prompt)
      KVERN_REQUIRES(mutex_);
  void remember(const NewEntry& entry);

  RemoteStore& store_;
  const std::chrono::milliseconds lookup_wait_;

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::shared_ptr<Question>> questions_ KVERN_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Question>> ahead_ KVERN_GUARDED_BY(mutex_);  // by ready(), for lookup()
  bool stop_ KVERN_GUARDED_BY(mutex_) = false;
  uint64_t late_ KVERN_GUARDED_BY(mutex_) = 0;
  uint64_t refused_ KVERN_GUARDED_BY(mutex_) = 0;  // offers while the server is left alone

  // Entries that were saved here, by a hash of space and tokens.
  Mutex saved_mutex_;
  std::unordered_map<uint64_t, std::chrono::steady_clock::time_point> saved_ KVERN_GUARDED_BY(saved_mutex_);
  uint64_t losses_ KVERN_GUARDED_BY(saved_mutex_) = 0;  // of the store when saved_ was right

  RestoreQueue restores_;
  WriteQueue writes_;
  std::thread thread_;
};

}  // namespace kvern::store
