// Finds the entry that gives the longest usable beginning of a prompt.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "store/block/name.h"
#include "store/index/sqlite.h"
#include "store/prefix/prefix_chain.h"

namespace kvern::store {

/// An entry, and how much of it is of use.
struct IndexHit {
  int64_t entry = 0;  ///< its id in the index
  ContentName manifest;
  int64_t tokens = 0;   ///< of the prompt, which the entry begins with, can be cut to, and has state for
  int64_t length = 0;   ///< of the entry
  int64_t minimum = 0;  ///< to which it can be cut
};

struct LookupQuery {
  std::span<const int32_t> prompt;
  std::span<const Sha256Digest> links;  ///< prefix_chain of it
  int64_t page = 0;
  int64_t now_seconds = 0;  ///< entries that expired by then are not found
};

/// Borrows a database. One thread at a time.
class PrefixLookup {
 public:
  static Result<PrefixLookup> make(SqlDatabase& database);

  /// At most prompt.size() - 1 tokens: the last one is always computed. An entry of n tokens that can be cut
  /// to m is of use for p of them when its first p tokens are the prompt's, m <= p <= n, and its state is
  /// whole up to p. Tokens are compared; hashes only say where to look.
  Result<std::optional<IndexHit>> longest(const LookupQuery& query);
  /// The entry of exactly these tokens.
  Result<std::optional<IndexHit>> exact(const LookupQuery& query);

 private:
  struct Walk;
  PrefixLookup() = default;
  Result<bool> matches(int64_t entry, std::span<const int32_t> tokens);
  Result<int64_t> known_pages(std::span<const Sha256Digest> links);
  Status search_page(const LookupQuery& query, int64_t page, std::optional<IndexHit>& best);
  Status consider(const LookupQuery& query, const IndexHit& candidate, std::optional<IndexHit>& best);

  SqlStatement after_;
  SqlStatement before_;
  SqlStatement at_link_;
  SqlStatement content_;
  SqlStatement known_;
};

}  // namespace kvern::store
