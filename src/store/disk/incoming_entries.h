// Entries that come from elsewhere, on their way into a directory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "store/block/manifest.h"
#include "store/disk/disk_store.h"

namespace kvern::store {

struct IncomingReport {
  int64_t saved = 0;
  int64_t there = 0;  ///< entries that were there already, or others that are as good
  int64_t blocks_written = 0;
  int64_t blocks_reused = 0;
  std::vector<ContentName> entries;  ///< as they are called here
};

/// Nobody sees any of it before commit(). What no entry names in the end (all of it when it is given up or
/// fails) is removed again. Holds the directory's lock shared, so that nothing that it relies on goes. One
/// thread.
class IncomingEntries {
 public:
  /// `store` outlives it. kInvalidArgument when it is read-only.
  static Result<IncomingEntries> begin(DiskStore& store);

  IncomingEntries(IncomingEntries&&) = default;
  IncomingEntries& operator=(IncomingEntries&&) = delete;
  ~IncomingEntries();

  /// Both have been checked against their names.
  Status add_block(const ContentName& name, std::span<const std::byte> bytes);
  /// kUnsupported when it does not fit the directory, kCorrupt when it names a block that has neither come
  /// nor is here, or one of another place, model or client: nobody gets at a block by knowing its name.
  Status add_manifest(const ContentName& name, std::vector<std::byte> bytes);
  /// Makes all of it visible, entry after entry, each durable. kExhausted when the directory may not hold so
  /// much.
  Result<IncomingReport> commit(bool pinned);

 private:
  struct Entry {
    ContentName name;
    std::vector<std::byte> bytes;
    IndexedEntry indexed;
  };
  IncomingEntries(DiskStore& store, std::unique_ptr<FileLock> held) : store_(store), held_(std::move(held)) {}
  Result<std::optional<ContentName>> same(const Entry& entry, bool pinned);
  Status check_size() const;
  Status check_kept() const;
  Status check_blocks(const ContentName& name, const Manifest& manifest);
  void take_back();

  DiskStore& store_;
  std::unique_ptr<FileLock> held_;
  std::unordered_set<ContentName, ContentNameHash> blocks_;  // that are here
  std::vector<Entry> entries_;
  DiskStore::AddedFiles added_;
  IncomingReport report_;
};

}  // namespace kvern::store
