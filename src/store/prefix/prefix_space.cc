#include "store/prefix/prefix_space.h"

#include <initializer_list>
#include <string_view>
#include <utility>

#include "store/block/wire.h"

namespace kvern::store {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// Lengths go before the parts, so that no two lists of parts look alike.
Sha256Digest hash_of(std::string_view what, std::initializer_list<std::span<const std::byte>> parts) {
  WireWriter out;
  out.text(what);
  for (const auto& part : parts) {
    out.number(static_cast<uint64_t>(part.size()));
    out.raw(part);
  }
  return sha256(out.bytes());
}

}  // namespace

PrefixSpace make_prefix_space(PrefixIdentity identity) {
  PrefixSpace space{.identity = std::move(identity)};
  const PrefixIdentity& id = space.identity;
  space.codec = sha256(bytes_of(id.cache));
  space.names = hash_of("kvern names 1", {bytes_of(id.adapter), bytes_of(id.tenant)});
  space.root = hash_of("kvern prefix 1", {id.model.digest, id.tokenizer, bytes_of(id.cache),
                                          bytes_of(id.adapter), bytes_of(id.tenant)});
  return space;
}

}  // namespace kvern::store
