// What a Redis server may send: answers in pieces, or, by the first byte, what stands at a link.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "store/remote/redis_reply.h"
#include "store/remote/remote_keys.h"

namespace {

using namespace kvern::store;

void require(bool holds) {
  if (!holds) std::abort();
}

// What is read can be written, and reads as the same.
void read_link(std::span<const std::byte> bytes) {
  const auto entries = decode_link(bytes);
  require(entries.size() <= kMostLinked);
  require(decode_link(encode_link(entries)) == entries);
}

void read_replies(std::span<const std::byte> bytes, size_t piece) {
  RedisReader reader;
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(piece, bytes.size()));
    bytes = bytes.subspan(part.size());
    reader.feed(part);
    while (true) {
      const auto reply = reader.next();
      if (!reply) return;
      if (!*reply) break;
      static_cast<void>(check_reply(**reply, RedisReply::Type::kList, 2));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span(data + 1, size - 1));
  if (data[0] == 0) {
    read_link(rest);
  } else {
    read_replies(rest, data[0]);
  }
  return 0;
}
