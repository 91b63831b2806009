#include "store/remote/redis_client.h"

#include <utility>

namespace kvern::store {
namespace {

constexpr size_t kMostKept = 8;

}  // namespace

RedisClient::RedisClient(RedisClientOptions options, const Clock& clock, LogSink& log)
    : options_(std::move(options)), log_(log), breaker_(clock, options_.breaker) {}

std::unique_ptr<RedisConnection> RedisClient::take_kept() {
  const MutexLock lock(mutex_);
  if (kept_.empty()) return nullptr;
  auto connection = std::move(kept_.back());
  kept_.pop_back();
  return connection;
}

Result<std::vector<RedisReply>> RedisClient::try_call(const RedisCall& call, Deadline deadline) {
  auto connection = take_kept();
  if (connection != nullptr) {
    auto replies = connection->call(call.commands, deadline);
    // The server may have closed it while nobody looked.
    if (replies || std::chrono::steady_clock::now() >= deadline) {
      const MutexLock lock(mutex_);
      if (replies && kept_.size() < kMostKept) kept_.push_back(std::move(connection));
      return replies;
    }
  }
  KVERN_TRY(connection, RedisConnection::open(options_.url, options_.trust, deadline));
  KVERN_TRY(auto replies, connection->call(call.commands, deadline));
  const MutexLock lock(mutex_);
  if (kept_.size() < kMostKept) kept_.push_back(std::move(connection));
  return replies;
}

Result<std::vector<RedisReply>> RedisClient::call(const RedisCall& call) {
  if (!breaker_.may_call()) {
    return std::unexpected(Error{.code = ErrorCode::kIo,
                                 .message = "the server has not answered and is left alone for a while",
                                 .where = options_.url.to_string(),
                                 .retryable = true});
  }
  const auto for_bytes = std::chrono::milliseconds(call.bytes * 1000 / options_.slowest_bytes_per_second);
  auto replies = try_call(call, std::chrono::steady_clock::now() + options_.timeout + for_bytes);
  if (replies) {
    if (breaker_.succeeded())
      log_.log(LogLevel::kInfo, "the remote tier answers again: " + options_.url.to_string());
    return replies;
  }
  ++failures_;
  if (breaker_.failed()) {
    log_.log(LogLevel::kWarning,
             "the remote tier does not answer and is left alone for a while: " + replies.error().to_string());
  }
  return replies;
}

}  // namespace kvern::store
