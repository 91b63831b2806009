// The checksum and the name that blocks and manifests share: over all bytes, with the 16 bytes of the
// checksum itself taken as zeros.
#pragma once

#include <cstddef>
#include <span>

#include "base/hash.h"
#include "store/block/name.h"

namespace kvern::store {

inline constexpr size_t kChecksumBytes = 16;

/// SHA-256. `checksum_at` + kChecksumBytes <= bytes.size().
ContentName name_of(std::span<const std::byte> bytes, size_t checksum_at);
/// XXH3-128, salted with the name.
Xxh3Digest128 checksum_of(const ContentName& name, std::span<const std::byte> bytes, size_t checksum_at);
/// Writes checksum_of into the bytes; gives the name.
ContentName seal(std::span<std::byte> bytes, size_t checksum_at);
/// Whether the checksum in the bytes is right for this name.
bool is_sealed(const ContentName& name, std::span<const std::byte> bytes, size_t checksum_at);

}  // namespace kvern::store
