// How prefixes lie in a Redis server. docs/formats/kv-remote.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "store/block/name.h"

namespace kvern::store {

/// Names of keys. Those of other pages are others, so that servers with other settings never meet.
class RemoteKeys {
 public:
  explicit RemoteKeys(int64_t page) : base_("kvern:1:" + std::to_string(page) + ":") {}
  std::string block(const ContentName& name) const { return base_ + "b:" + name.to_string(); }
  std::string manifest(const ContentName& name) const { return base_ + "m:" + name.to_string(); }
  /// Of a link of a prefix_chain: what goes on from there.
  std::string link(const Sha256Digest& link) const { return base_ + "l:" + to_hex(link); }

 private:
  std::string base_;
};

/// An entry that goes on from a link.
struct LinkedEntry {
  ContentName manifest;
  int64_t length = 0;         ///< of the entry
  int64_t minimum = 0;        ///< to which it can be cut
  std::vector<int32_t> next;  ///< its tokens behind the link, at most a page

  bool operator==(const LinkedEntry&) const = default;
};

/// So many entries, the newest first, are kept at a link.
inline constexpr size_t kMostLinked = 8;

std::vector<std::byte> encode_link(std::span<const LinkedEntry> entries);
/// Reads anybody's bytes: what is no list of entries is an empty one.
std::vector<LinkedEntry> decode_link(std::span<const std::byte> bytes);
/// Puts an entry first; others go that it makes useless, or that are too many.
void add_linked(std::vector<LinkedEntry>& entries, LinkedEntry entry);

}  // namespace kvern::store
