#include "store/disk/incoming_entries.h"

#include <string>
#include <utility>

#include "store/block/manifest_format.h"
#include "store/disk/entry_parts.h"

namespace kvern::store {

Result<IncomingEntries> IncomingEntries::begin(DiskStore& store) {
  KVERN_TRY_STATUS(store.check_writable());
  KVERN_TRY_STATUS(store.replace_missing_parts());
  KVERN_TRY(auto held, store.parts_.files.lock(store.options_.directory + "/lock", LockKind::kShared));
  return IncomingEntries(store, std::move(held));
}

IncomingEntries::~IncomingEntries() { take_back(); }

// Blocks that came and that no entry here came to name: the import failed, or the entry was there already.
void IncomingEntries::take_back() {
  held_.reset();
  static_cast<void>(store_.remove_unnamed(std::exchange(added_, {})));
}

Status IncomingEntries::add_block(const ContentName& name, std::span<const std::byte> bytes) {
  if (!blocks_.insert(name).second) return Ok{};
  KVERN_TRY(const bool there, store_.is_there(name, bytes));
  if (there) {
    ++report_.blocks_reused;
    ++store_.counters_.blocks_reused;
    return Ok{};
  }
  KVERN_TRY_STATUS(store_.add_block(name, bytes, added_));
  ++report_.blocks_written;
  return Ok{};
}

Status IncomingEntries::add_manifest(const ContentName& name, std::vector<std::byte> bytes) {
  KVERN_TRY(const Manifest manifest, decode_manifest(name, bytes));
  if (manifest.tokens.empty())
    return fail(ErrorCode::kCorrupt, "a saved prefix has at least one token", name.to_string());
  KVERN_TRY(IndexedEntry indexed, store_.indexed_entry(name, manifest, bytes.size()));
  KVERN_TRY_STATUS(check_blocks(name, manifest));
  entries_.push_back({name, std::move(bytes), std::move(indexed)});
  return Ok{};
}

Status IncomingEntries::check_blocks(const ContentName& name, const Manifest& manifest) {
  for (size_t i = 0; i < manifest.pieces.size(); ++i) {
    const auto& block = manifest.pieces[i].block;
    if (!block) continue;
    const auto bytes = store_.blocks_.read(*block, block_bytes_of(manifest, i));
    const auto view = bytes ? decode_block(*block, bytes->bytes()) : std::unexpected(bytes.error());
    if (view && view->info == block_info_of(manifest, i)) continue;
    // The same words for one that is here and another's: whether it is, is not for everybody to know.
    return fail(ErrorCode::kCorrupt, "a block of this prefix did not come with it: " + block->to_string(),
                name.to_string());
  }
  return Ok{};
}

Status IncomingEntries::check_size() const {
  const uint64_t most = store_.most_entry_bytes();
  uint64_t bytes = 0;
  std::unordered_set<ContentName, ContentNameHash> counted;
  for (const Entry& entry : entries_) {
    bytes += entry.indexed.manifest_bytes;
    for (const IndexedBlock& block : entry.indexed.blocks) {
      if (counted.insert(block.name).second) bytes += block.bytes;
    }
  }
  if (most == 0 || bytes <= most) return Ok{};
  return fail(ErrorCode::kExhausted,
              "these prefixes take " + std::to_string(bytes) + " bytes, and the directory may hold " +
                  std::to_string(most),
              store_.options_.directory);
}

// The entry of these tokens that makes this one unnecessary.
Result<std::optional<ContentName>> IncomingEntries::same(const Entry& entry, bool pinned) {
  const MutexLock lock(store_.mutex_);
  KVERN_TRY_STATUS(store_.check_index());
  PrefixIndex& index = *store_.index_;
  const IndexedEntry& indexed = entry.indexed;
  KVERN_TRY(const bool itself, index.has_manifest(entry.name));
  KVERN_TRY(
      const auto hit,
      index.lookup().exact({.prompt = indexed.tokens, .links = indexed.links, .page = store_.chain_.page}));
  const bool whole = hit && hit->tokens == hit->length;
  const bool as_good = whole && hit->minimum <= indexed.minimum && !indexed.extras;
  if (!as_good && !(whole && itself && hit->manifest == entry.name)) return std::optional<ContentName>();
  if (pinned) KVERN_TRY_STATUS(index.set_pinned(hit->manifest, true));
  KVERN_TRY_STATUS(index.touch(hit->manifest, store_.now_seconds()));
  return std::optional(hit->manifest);
}

Result<IncomingReport> IncomingEntries::commit(bool pinned) {
  KVERN_TRY_STATUS(check_size());
  if (report_.blocks_written > 0) KVERN_TRY_STATUS(store_.blocks_.sync());
  for (Entry& entry : entries_) {
    KVERN_TRY(const auto there, same(entry, pinned));
    report_.entries.push_back(there.value_or(entry.name));
    if (there) {
      ++report_.there;
      continue;
    }
    KVERN_TRY_STATUS(store_.add_manifest(entry.name, entry.bytes, added_));
    KVERN_TRY_STATUS(store_.manifests_.sync());
    entry.indexed.used = store_.now_seconds();
    entry.indexed.pinned = pinned;
    const MutexLock lock(store_.mutex_);
    KVERN_TRY_STATUS(store_.check_index());
    KVERN_TRY_STATUS(store_.index_->insert(entry.indexed));
    store_.counters_.bytes_written += entry.bytes.size();
    ++store_.counters_.saved;
    ++report_.saved;
  }
  take_back();
  if (store_.max_bytes_ > 0) {
    KVERN_TRY_STATUS(store_.evict_to_limit());
    KVERN_TRY_STATUS(check_kept());
  }
  return std::move(report_);
}

// What is pinned may have left no room for all of it.
Status IncomingEntries::check_kept() const {
  const uint64_t most = store_.most_entry_bytes();
  const MutexLock lock(store_.mutex_);
  KVERN_TRY_STATUS(store_.check_index());
  for (const ContentName& name : report_.entries) {
    KVERN_TRY(const bool kept, store_.index_->has_manifest(name));
    if (kept) continue;
    KVERN_TRY(const uint64_t pinned, pinned_bytes(store_.index_->database()));
    return std::unexpected(store_.no_room(pinned, most));
  }
  return Ok{};
}

}  // namespace kvern::store
