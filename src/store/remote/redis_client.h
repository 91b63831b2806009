// Calls to one Redis server from any thread: connections that are kept, deadlines, and leaving it alone when
// it does not answer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "store/remote/circuit_breaker.h"
#include "store/remote/redis_connection.h"

namespace kvern::store {

struct RedisClientOptions {
  RedisUrl url;
  TlsTrust trust;
  /// For each call, beside what its bytes take at `slowest_bytes_per_second`.
  std::chrono::milliseconds timeout{100};
  uint64_t slowest_bytes_per_second = uint64_t{16} << 20;
  BreakerOptions breaker;
};

struct RedisCall {
  std::span<const RedisCommand> commands;
  uint64_t bytes = 0;  ///< that go or come, about
};

/// Thread-safe.
class RedisClient {
 public:
  /// Borrowed.
  RedisClient(RedisClientOptions options, const Clock& clock, LogSink& log);

  /// As RedisConnection::call, within the deadline. kIo at once while the server is left alone. A call may
  /// reach the server twice, when a kept connection turns out to be gone. One warning for a row of failures.
  Result<std::vector<RedisReply>> call(const RedisCall& call);
  /// Whether a call would be made now.
  bool may_call() const { return breaker_.may_call_now(); }
  const RedisUrl& url() const { return options_.url; }
  /// Calls that failed, without those that were not made.
  uint64_t failures() const { return failures_; }

 private:
  Result<std::vector<RedisReply>> try_call(const RedisCall& call, Deadline deadline);
  std::unique_ptr<RedisConnection> take_kept();

  const RedisClientOptions options_;
  LogSink& log_;
  CircuitBreaker breaker_;
  std::atomic<uint64_t> failures_ = 0;
  Mutex mutex_;
  std::vector<std::unique_ptr<RedisConnection>> kept_ KVERN_GUARDED_BY(mutex_);
};

}  // namespace kvern::store
