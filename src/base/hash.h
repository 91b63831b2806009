// Hashes: SHA-256 where a name or an identity is at stake, XXH3 where only accidents matter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace kvern {

using Sha256Digest = std::array<std::byte, 32>;

/// Incremental SHA-256 (FIPS 180-4). One thread.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(std::span<const std::byte> data);
  /// The digest of all that was given; the object is as new afterwards.
  Sha256Digest finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

Sha256Digest sha256(std::span<const std::byte> data);

/// XXH3, 64 bits, seed 0 (xxhash.com). Not collision-proof against an adversary.
uint64_t xxh3_64(std::span<const std::byte> data);

using Xxh3Digest128 = std::array<std::byte, 16>;

/// XXH3, 128 bits, seed 0, of all parts as if they were one; in the canonical (big-endian) form.
Xxh3Digest128 xxh3_128(std::span<const std::span<const std::byte>> parts);

/// Lower-case hexadecimal.
std::string to_hex(std::span<const std::byte> data);

/// Identity of a model's weights and configuration; what state and saved prefixes are bound to.
struct ModelFingerprint {
  Sha256Digest digest{};
  bool operator==(const ModelFingerprint&) const = default;
  std::string to_string() const { return to_hex(digest); }
};

}  // namespace kvern
