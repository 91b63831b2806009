#include "store/block/checksum.h"

#include <array>
#include <cstring>

#include "base/check.h"

namespace kvern::store {
namespace {

constexpr std::array<std::byte, kChecksumBytes> kZeros{};

}  // namespace

ContentName name_of(std::span<const std::byte> bytes, size_t checksum_at) {
  KVERN_CHECK(checksum_at + kChecksumBytes <= bytes.size());
  Sha256 hash;
  hash.update(bytes.first(checksum_at));
  hash.update(kZeros);
  hash.update(bytes.subspan(checksum_at + kChecksumBytes));
  return {hash.finish()};
}

Xxh3Digest128 checksum_of(const ContentName& name, std::span<const std::byte> bytes, size_t checksum_at) {
  KVERN_CHECK(checksum_at + kChecksumBytes <= bytes.size());
  const std::array<std::span<const std::byte>, 4> parts = {name.digest, bytes.first(checksum_at), kZeros,
                                                           bytes.subspan(checksum_at + kChecksumBytes)};
  return xxh3_128(parts);
}

ContentName seal(std::span<std::byte> bytes, size_t checksum_at) {
  const ContentName name = name_of(bytes, checksum_at);
  const Xxh3Digest128 checksum = checksum_of(name, bytes, checksum_at);
  std::memcpy(bytes.data() + checksum_at, checksum.data(), checksum.size());
  return name;
}

bool is_sealed(const ContentName& name, std::span<const std::byte> bytes, size_t checksum_at) {
  const Xxh3Digest128 checksum = checksum_of(name, bytes, checksum_at);
  return std::memcmp(bytes.data() + checksum_at, checksum.data(), checksum.size()) == 0;
}

}  // namespace kvern::store
