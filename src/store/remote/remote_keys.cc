#include "store/remote/remote_keys.h"

#include <cstring>
#include <utility>

#include "store/block/wire.h"

namespace kvern::store {
namespace {

constexpr uint32_t kLinkVersion = 1;

bool read_entry(WireReader& in, LinkedEntry& entry) {
  in.array(entry.manifest.digest);
  entry.length = in.number<int64_t>();
  entry.minimum = in.number<int64_t>();
  const auto next = in.raw(uint64_t{in.number<uint32_t>()} * sizeof(int32_t));
  entry.next.resize(next.size() / sizeof(int32_t));
  if (!next.empty()) std::memcpy(entry.next.data(), next.data(), next.size());
  return in.ok() && entry.minimum >= 0 && entry.minimum <= entry.length;
}

}  // namespace

std::vector<std::byte> encode_link(std::span<const LinkedEntry> entries) {
  WireWriter out;
  out.number(kLinkVersion);
  out.number(static_cast<uint32_t>(entries.size()));
  for (const LinkedEntry& entry : entries) {
    out.raw(entry.manifest.digest);
    out.number(entry.length);
    out.number(entry.minimum);
    out.number(static_cast<uint32_t>(entry.next.size()));
    out.raw(std::as_bytes(std::span(entry.next)));
  }
  return std::move(out.bytes());
}

std::vector<LinkedEntry> decode_link(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  std::vector<LinkedEntry> entries;
  if (in.number<uint32_t>() != kLinkVersion) return {};
  const auto count = in.number<uint32_t>();
  if (count > kMostLinked) return {};
  for (uint32_t i = 0; i < count; ++i) {
    if (!read_entry(in, entries.emplace_back())) return {};
  }
  if (!in.ok() || in.left() > 0) return {};
  return entries;
}

void add_linked(std::vector<LinkedEntry>& entries, LinkedEntry entry) {
  // One that goes on likewise, and can be cut no further back, gives nothing that this one does not give.
  std::erase_if(entries, [&](const LinkedEntry& other) {
    return other.manifest == entry.manifest || (other.next == entry.next && other.minimum >= entry.minimum);
  });
  entries.insert(entries.begin(), std::move(entry));
  if (entries.size() > kMostLinked) entries.resize(kMostLinked);
}

}  // namespace kvern::store
