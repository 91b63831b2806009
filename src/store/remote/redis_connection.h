// A connection to a Redis server: commands out, answers in, a deadline for each call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/remote/byte_stream.h"
#include "store/remote/redis_reply.h"
#include "store/remote/redis_url.h"

namespace kvern::store {

/// A command with its arguments. Large ones are borrowed until the call returns.
class RedisCommand {
 public:
  RedisCommand(std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words) add(word);
  }
  RedisCommand& add(std::string_view word) {
    parts_.push_back({.copy = std::string(word), .borrowed = {}});
    return *this;
  }
  RedisCommand& add(int64_t number) { return add(std::to_string(number)); }
  RedisCommand& borrow(std::span<const std::byte> bytes) {
    parts_.push_back({.copy = {}, .borrowed = bytes});
    return *this;
  }

 private:
  friend class RedisConnection;
  struct Part {
    std::string copy;
    std::span<const std::byte> borrowed;
    std::span<const std::byte> bytes() const {
      return borrowed.empty() ? std::as_bytes(std::span(copy)) : borrowed;
    }
  };
  std::vector<Part> parts_;
};

/// One thread. After an error it is of no more use.
class RedisConnection {
 public:
  /// Connects, says who it is and chooses the database.
  static Result<std::unique_ptr<RedisConnection>> open(const RedisUrl& url, const TlsTrust& trust,
                                                       Deadline deadline);

  /// Sends all, then takes an answer for each. kIo when the deadline passed or the connection broke, kCorrupt
  /// when the server sends something else than answers. What the server refuses is an answer of type kError.
  Result<std::vector<RedisReply>> call(std::span<const RedisCommand> commands, Deadline deadline);

 private:
  RedisConnection(std::unique_ptr<ByteStream> stream, std::string where)
      : stream_(std::move(stream)), where_(std::move(where)) {}
  Status greet(const RedisUrl& url, Deadline deadline);
  Status send(std::span<const RedisCommand> commands, Deadline deadline);
  Result<RedisReply> receive(Deadline deadline);

  std::unique_ptr<ByteStream> stream_;
  std::string where_;
  RedisReader reader_;
  std::vector<std::byte> input_;
};

}  // namespace kvern::store
