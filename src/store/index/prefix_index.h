// The index of a directory of saved prefixes, for those who change it. One commit makes an entry visible, and
// one makes it gone; what is needed no longer is named in the same commit, so that whoever removes the files
// can be interrupted anywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/block/name.h"
#include "store/index/index_report.h"
#include "store/index/prefix_lookup.h"
#include "store/index/schema.h"
#include "store/index/sqlite.h"

namespace kvern::store {

struct IndexedBlock {
  ContentName name;
  uint64_t bytes = 0;
  int64_t first = 0;  ///< position at which the entry needs it
};

/// What the index is told of an entry.
struct IndexedEntry {
  ContentName manifest;
  uint64_t manifest_bytes = 0;
  ModelFingerprint model;
  std::vector<int32_t> tokens;
  std::vector<Sha256Digest> links;  ///< prefix_chain of the tokens
  int64_t minimum = 0;
  std::vector<IndexedBlock> blocks;
  int64_t used = 0;     ///< seconds since 1970
  int64_t expires = 0;  ///< likewise; 0 = never
  bool pinned = false;
  bool extras = false;  ///< it has attachments or a checkpoint, so a longer entry does not replace it
};

/// Files that no entry names any more.
struct DoomedFiles {
  std::vector<ContentName> manifests;
  std::vector<ContentName> blocks;
  bool empty() const { return manifests.empty() && blocks.empty(); }
};

/// One thread at a time; other processes and connections may be at work on the same file. Errors as
/// SqlDatabase's.
class PrefixIndex {
 public:
  static Result<std::unique_ptr<PrefixIndex>> open(const IndexFile& file, const ChainOptions& chain);

  int64_t page() const { return page_; }
  bool is_new() const { return is_new_; }
  PrefixLookup& lookup() { return lookup_; }

  /// Adds an entry. One of equal tokens is replaced, and pinned if that was; beginnings of it are dropped
  /// which it gives as well: those that could be cut no further back than it can.
  Status insert(const IndexedEntry& entry);
  /// kNotFound when there is no such entry.
  Status remove(const ContentName& manifest);
  /// Removes what has expired, then, until at most `max_bytes` are left, the entries used the longest time
  /// ago; pinned ones never. The number of entries.
  Result<int64_t> evict(uint64_t max_bytes, int64_t now_seconds);
  /// Forgets all entries.
  Status clear();

  /// The files that entries named which are gone; they may be removed. Then forget_doomed.
  Result<DoomedFiles> doomed();
  Status forget_doomed(const DoomedFiles& files);

  /// The size of a block that is on disk as far as the index knows.
  Result<std::optional<uint64_t>> block_bytes(const ContentName& name);
  Result<bool> has_manifest(const ContentName& name);
  /// A block was found damaged or missing: entries are whole only up to it, until an entry is added that
  /// brings it again.
  Status lose_block(const ContentName& name);

  Status touch(const ContentName& manifest, int64_t used_seconds);
  Status set_pinned(const ContentName& manifest, bool pinned);
  /// Pins it unless pinned entries would have more than `most` bytes by that: then so many.
  Result<std::optional<uint64_t>> pin_within(const ContentName& manifest, uint64_t most);
  Status set_expiry(const ContentName& manifest, int64_t expires_seconds);
  /// For index_report.
  SqlDatabase& database() { return *database_; }

 private:
  struct Steps {
    std::span<const int32_t> tokens;
    std::span<const Sha256Digest> links;
    int64_t minimum = 0;
    int64_t entry = 0;
  };

  PrefixIndex(OpenedIndex opened, PrefixLookup lookup, ChainHash hash);
  Status prepare();
  Result<int64_t> id_of(const ContentName& manifest);
  Status for_steps(SqlStatement& statement, const Steps& steps);
  Status add_links(std::span<const Sha256Digest> links);
  Status drop_links(std::span<const Sha256Digest> links);
  Status add_block(const IndexedBlock& block, int64_t entry);
  struct Superseded {
    std::vector<int64_t> ids;
    bool pinned = false;
  };
  Result<bool> drop_superseded(const IndexedEntry& entry);
  Result<Superseded> superseded(const IndexedEntry& entry, size_t link);
  Status drop(int64_t id);
  Status drop_blocks(int64_t id);
  Status refresh_usable(int64_t block);
  Status add_bytes(int64_t bytes);
  Result<int64_t> total_bytes();

  std::unique_ptr<SqlDatabase> database_;  // statements and lookup borrow it
  PrefixLookup lookup_;
  int64_t page_;
  ChainOptions chain_;
  bool is_new_;
  struct Statements;
  struct DeleteStatements {
    void operator()(Statements* statements) const;
  };
  std::unique_ptr<Statements, DeleteStatements> sql_;
};

}  // namespace kvern::store
