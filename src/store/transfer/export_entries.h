// Saved prefixes of a directory into one file.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "store/disk/disk_store.h"
#include "store/transfer/export_format.h"

namespace kvern::store {

struct TransferReport {
  int64_t entries = 0;
  int64_t blocks = 0;
  uint64_t bytes = 0;  ///< of the file
};

/// Writes these entries, each once, and every block that they name once. All is checked as it is read: what
/// is damaged, or goes meanwhile, is an error, and what the sink has got is no whole file. Whoever holds
/// store.hold() meanwhile sees nothing go. `progress` counts bytes of the file; kCancelled when it says
/// false.
Result<TransferReport> export_entries(DiskStore& store, std::span<const ContentName> entries,
                                      const ByteSink& sink, const Progress& progress = {});

}  // namespace kvern::store
