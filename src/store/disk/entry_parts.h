// What every place of saved state does alike: entries into blocks and a manifest, and whether what comes back
// is what was meant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "store/block/aligned_buffer.h"
#include "store/block/block_format.h"
#include "store/block/manifest.h"
#include "store/disk/new_entry.h"
#include "store/index/prefix_lookup.h"
#include "store/prefix/prefix_space.h"

namespace kvern::store {

/// A whole page of a new entry as a block.
struct PackedBlock {
  ContentName name;
  int64_t first = 0;  ///< position
  AlignedBuffer bytes;
};

struct PackOptions {
  int64_t page = 0;
  int64_t created_seconds = 0;  ///< since 1970
};

/// Whole pages become blocks, which `take` gets one by one; the rest goes into the manifest. An error of
/// `take` ends it.
Result<Manifest> pack_entry(const NewEntry& entry, const PackOptions& options,
                            const std::function<Status(PackedBlock)>& take);

/// Whether all that the manifest says of whose it is says that it is this one's.
bool has_identity(const Manifest& manifest, const PrefixSpace& space);

/// What is looked for.
struct WantedEntry {
  const PrefixSpace& space;
  std::span<const int32_t> prompt;
  int64_t tokens = 0;  ///< of the prompt
  int64_t page = 0;
};

/// Whether the manifest is of this identity and page, begins with these tokens and can be cut to them.
bool is_entry_of(const Manifest& manifest, const WantedEntry& wanted);

/// What the block of a piece must say of itself.
BlockInfo block_info_of(const Manifest& manifest, size_t piece);
/// What a block is, in words, that is not the wanted one.
std::string_view difference(const BlockInfo& block, const BlockInfo& wanted);
/// What is wrong with an entry that came whole and gave results that are no numbers.
Error no_good(const ContentName& entry);

/// Calls `put_away` for each entry of exactly these tokens that `find` gives, until it gives none, or one
/// that could not be put away and is given again.
void for_entries_of(std::span<const int32_t> tokens,
                    const std::function<Result<std::optional<IndexHit>>(std::span<const int32_t>)>& find,
                    const std::function<void(const ContentName&)>& put_away);
/// How long the file of that block is.
size_t block_bytes_of(const Manifest& manifest, size_t piece);

}  // namespace kvern::store
