// Reads entries on threads of their own, so that a restore waits for no save.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "store/tier/restore_source.h"
#include "store/tier/tier.h"

namespace kvern::store {

struct RestoreQueueOptions {
  int threads = 3;  ///< one checks or opens while others read
  /// Bytes of an entry that wait to be taken, at most, beside those being read.
  uint64_t ahead_bytes = uint64_t{16} << 20;
  /// What one thread reads in one go.
  uint64_t batch_bytes = uint64_t{4} << 20;
};

/// Thread-safe. Restores that are still wanted when it is destroyed end early.
class RestoreQueue {
 public:
  /// `source` is borrowed.
  RestoreQueue(RestoreSource& source, const RestoreQueueOptions& options);
  ~RestoreQueue();
  RestoreQueue(const RestoreQueue&) = delete;
  RestoreQueue& operator=(const RestoreQueue&) = delete;

  /// Begins to read what `hit` found for a prompt.
  std::unique_ptr<TierRestore> start(std::shared_ptr<const PrefixSpace> space,
                                     std::span<const int32_t> prompt, const IndexHit& hit);
  /// RestoreSource::distrust, on one of the threads.
  void distrust(std::shared_ptr<const PrefixSpace> space, std::vector<int32_t> tokens);

 private:
  struct Job;
  class Restore;
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);
  static void load(Shared& shared, Job& job);
  static uint64_t bytes_of(const Job& job, size_t index);
  static std::vector<size_t> next_batch(const Shared& shared, Job& job);
  static void deliver(Job& job, std::span<const size_t> batch, std::vector<Result<LoadedPiece>> loaded);

  std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
};

}  // namespace kvern::store
