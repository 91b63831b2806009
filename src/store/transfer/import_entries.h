// Saved prefixes of a file into a directory.
#pragma once

#include <optional>

#include "base/hash.h"
#include "base/result.h"
#include "store/disk/disk_store.h"
#include "store/disk/incoming_entries.h"
#include "store/prefix/prefix_space.h"
#include "store/transfer/export_format.h"

namespace kvern::store {

struct ImportOptions {
  /// Whose state is welcome; anybody's when there is none.
  std::optional<ModelFingerprint> model;
  /// Model, tokenizer, codec, adapter and tenant.
  std::optional<PrefixSpace> space;
  /// Ids of tokens are below it, and never negative.
  int64_t vocabulary = int64_t{1} << 31;
  bool pinned = false;
};

/// Takes a file of export_entries. All of it is read and checked before any entry is seen: names, checksums,
/// that every entry has its blocks, that it is what `options` ask for (kInvalidArgument names both), that its
/// tokens are some of the vocabulary. An error leaves the directory's entries as they were. Importing again
/// changes nothing. `progress` counts bytes of the file; kCancelled when it says false.
Result<IncomingReport> import_entries(DiskStore& store, const ByteSource& source,
                                      const ImportOptions& options, const Progress& progress = {});

}  // namespace kvern::store
