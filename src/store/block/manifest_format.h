// Manifests as files. The byte table is docs/formats/kv-manifest.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "store/block/manifest.h"

namespace kvern::store {

inline constexpr std::array<char, 8> kManifestMagic = {'K', 'V', 'R', 'N', 'M', 'A', 'N', '\n'};
inline constexpr uint32_t kManifestVersion = 1;
inline constexpr uint32_t kManifestMinimumRead = 1;
inline constexpr uint32_t kManifestMinimumWrite = 1;
static_assert(kManifestMinimumRead <= kManifestVersion && kManifestMinimumWrite <= kManifestVersion);

/// Nobody makes larger ones; readers refuse them before they take memory.
inline constexpr uint64_t kMostManifestBytes = uint64_t{1} << 32;

struct EncodedManifest {
  ContentName name;
  std::vector<std::byte> bytes;
};

/// The manifest is one that decode_manifest would accept (checked).
EncodedManifest encode_manifest(const Manifest& manifest);

/// Reads anybody's bytes: kCorrupt says what is wrong with the manifest of this name, kUnsupported which
/// version or kind of state it has. Takes no more memory than the bytes' size class.
Result<Manifest> decode_manifest(const ContentName& name, std::span<const std::byte> bytes,
                                 BlockCheck check = BlockCheck::kChecksum);

}  // namespace kvern::store
