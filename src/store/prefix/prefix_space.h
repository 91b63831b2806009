// Whose state may be used for what: the identity of a prefix before its first token.
#pragma once

#include <string>

#include "base/hash.h"

namespace kvern::store {

/// Everything besides the tokens that decides what state they produce, and who may see it.
struct PrefixIdentity {
  ModelFingerprint model;    ///< weights and configuration, not a file's name
  Sha256Digest tokenizer{};  ///< SHA-256 of what turns text into tokens
  std::string cache;         ///< KvCache::identity()
  std::string adapter;       ///< what the adapters in use are, by content and scale; empty for none
  std::string tenant;        ///< salt of whom the prompt belongs to; empty for nobody's
};

/// The same as hashes. Immutable.
struct PrefixSpace {
  PrefixIdentity identity;
  Sha256Digest codec{};  ///< of identity.cache
  Sha256Digest names{};  ///< of adapter and tenant: what blocks and manifests say instead of them
  Sha256Digest root{};   ///< of everything: where chains of tokens begin
};

PrefixSpace make_prefix_space(PrefixIdentity identity);

}  // namespace kvern::store
