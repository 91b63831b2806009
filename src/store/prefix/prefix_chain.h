// Hashes of all beginnings of a prompt that end with a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/hash.h"

namespace kvern::store {

/// A hash of bytes. Chains only find candidates; tokens are always compared, so a hash that collides costs
/// time and is never wrong.
using ChainHash = Sha256Digest (*)(std::span<const std::byte>);

/// What a prompt is cut into: pages of so many tokens.
struct ChainOptions {
  int64_t page = 64;
  ChainHash hash = &sha256;  ///< another one for tests
};

/// links[k] belongs to the first k pages: links[0] is the root, links[k + 1] the hash of links[k] and the
/// tokens of page k, each as four bytes, the low one first. Has tokens.size() / page + 1 links.
std::vector<Sha256Digest> prefix_chain(const Sha256Digest& root, std::span<const int32_t> tokens,
                                       const ChainOptions& options);

}  // namespace kvern::store
