// What a Redis server answers, out of bytes that may be anybody's (hiredis).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

struct redisReader;  // NOLINT(readability-identifier-naming): that of hiredis

namespace kvern::store {

struct RedisReply {
  enum class Type : uint8_t { kNothing, kInteger, kText, kError, kList };
  Type type = Type::kNothing;
  int64_t integer = 0;
  std::string text;  ///< bytes of a string; the message of an error
  std::vector<RedisReply> items;

  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(text)); }
};

/// Whether an answer is of a type (and a list of so many): kExhausted when the server is full, kCorrupt for
/// what is no answer to this, kIo for what it refuses.
Status check_reply(const RedisReply& reply, RedisReply::Type type, size_t items);

/// One thread. Takes no more memory than a small multiple of the bytes that came.
class RedisReader {
 public:
  RedisReader();
  void feed(std::span<const std::byte> bytes);
  /// The next answer that is whole. kCorrupt when the bytes are none; nothing can be read afterwards.
  Result<std::optional<RedisReply>> next();

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };
  std::unique_ptr<redisReader, Free> reader_;
};

}  // namespace kvern::store
