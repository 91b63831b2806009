// The tables of the index, and how a database gets them.
//
//   entry    a saved prefix: its manifest, how long it is, how far back it can be cut (minimum) and how far
//   its
//            state is whole (usable); link is where its last whole page ends
//   content  the entry's tokens
//   block    a block that is on disk, how many entries use it, and whether it was found damaged or missing
//   use      which entry uses which block, and at which position
//   step     for every page of an entry at which a usable beginning can end: the hash of what goes before
//            (link) and the tokens of the page itself, in whose order neighbours share the most
//   link     every beginning that ends with a page of some entry, so that it is soon known how far a prompt
//   is known doomed   files that no entry names any more and that may still be there
//
// Nothing in it is needed to be right: manifests and blocks say all of it, and are checked before use.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/hash.h"
#include "base/result.h"
#include "store/index/sqlite.h"

namespace kvern::store {

inline constexpr int kIndexVersion = 1;

struct IndexFile {
  std::string path;
  const char* vfs = nullptr;  ///< SqlDatabase::open
};

struct OpenedIndex {
  SqlDatabase database;
  int64_t page = 0;
  bool is_new = false;  ///< it had no tables
};

/// For writing; makes the tables of a new one for pages of so many positions. kUnsupported for a later
/// version.
Result<OpenedIndex> open_index(const IndexFile& file, int64_t page);
/// For reading only; also where nothing can be written.
Result<OpenedIndex> open_index_read_only(const IndexFile& file);

/// What stands in the index for a link of a chain.
inline std::span<const std::byte> link_key(const Sha256Digest& link) { return std::span(link).first(16); }

}  // namespace kvern::store
