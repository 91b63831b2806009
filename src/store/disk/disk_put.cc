// Saving.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "store/block/manifest_format.h"
#include "store/disk/disk_store.h"

namespace kvern::store {
namespace {

constexpr size_t kMostKnown = size_t{1} << 20;

}  // namespace

// What a save has made so far.
struct DiskStore::Writing {
  Manifest manifest;
  EncodedManifest encoded;
  std::vector<IndexedBlock> blocks;
  std::vector<Sha256Digest> links;
  uint64_t new_blocks = 0;
  AddedFiles added;
};

Result<PutOutcome> DiskStore::put(const NewEntry& entry) {
  KVERN_TRY_STATUS(check_writable());
  KVERN_CHECK(entry.space != nullptr && entry.pieces != nullptr);
  const uint64_t most = most_entry_bytes();
  if (entry.tokens.empty()) return fail(ErrorCode::kInvalidArgument, "a saved prefix has at least one token");
  if (most > 0 && entry.file_bytes(chain_.page) > most) return PutOutcome::kTooLarge;
  KVERN_TRY_STATUS(replace_missing_parts());
  const auto links = prefix_chain(entry.space->root, entry.tokens, chain_);
  Result<PutOutcome> saved =
      index_damaged_.exchange(false)
          ? std::unexpected(Error{.code = ErrorCode::kCorrupt, .message = "found by a lookup"})
          : try_put(entry, links);
  if (!saved && saved.error().code == ErrorCode::kCorrupt) {
    KVERN_TRY_STATUS(rebuild_index(saved.error()));
    saved = try_put(entry, links);
  }
  if (saved && *saved == PutOutcome::kSaved) ++counters_.saved;
  return saved;
}

// kCorrupt when the index turns out to be damaged.
Result<PutOutcome> DiskStore::try_put(const NewEntry& entry, const std::vector<Sha256Digest>& links) {
  KVERN_TRY_STATUS(make_room(entry, links));
  KVERN_TRY(const PutOutcome outcome, save(entry, links));
  if (outcome != PutOutcome::kSaved || max_bytes_ == 0) return outcome;
  KVERN_TRY_STATUS(evict_to_limit());
  KVERN_TRY_STATUS(check_kept(entry, links));
  return outcome;
}

// Nobody is told that something is saved which was the first to go.
Status DiskStore::check_kept(const NewEntry& entry, const std::vector<Sha256Digest>& links) {
  const uint64_t most = most_entry_bytes();
  const MutexLock lock(mutex_);
  KVERN_TRY_STATUS(check_index());
  KVERN_TRY(const auto kept,
            index_->lookup().exact({.prompt = entry.tokens, .links = links, .page = chain_.page}));
  if (kept) return Ok{};
  KVERN_TRY(const uint64_t pinned, pinned_bytes(index_->database()));
  return std::unexpected(no_room(pinned, most));
}

Error DiskStore::no_room(uint64_t pinned, uint64_t most) const {
  return {.code = ErrorCode::kExhausted,
          .message = "pinned prefixes hold " + std::to_string(pinned) + " of the " + std::to_string(most) +
                     " bytes that prefixes may take here, and leave no room: let some of them go (sessions "
                     "pin theirs), or allow the directory more",
          .where = options_.directory};
}

// Others may be removed before the entry is written, for what it will take at most.
Status DiskStore::make_room(const NewEntry& entry, const std::vector<Sha256Digest>& links) {
  const uint64_t most = most_entry_bytes();
  if (most == 0) return Ok{};
  uint64_t wanted = entry.file_bytes(chain_.page);
  {
    const MutexLock lock(mutex_);
    KVERN_TRY_STATUS(check_index());
    KVERN_TRY_STATUS(flush_touches());
    KVERN_TRY(const auto shared,
              index_->lookup().longest({.prompt = entry.tokens, .links = links, .page = chain_.page}));
    if (shared) {
      const auto new_tokens = static_cast<uint64_t>(std::ssize(entry.tokens) - shared->tokens);
      wanted = wanted / entry.tokens.size() * new_tokens;
      // It must not go to make room for what builds upon it.
      KVERN_TRY_STATUS(index_->touch(shared->manifest, now_seconds()));
    }
    // Else all others would go, and in vain.
    KVERN_TRY(const uint64_t pinned, pinned_bytes(index_->database()));
    if (wanted > most - std::min(most, pinned)) return std::unexpected(no_room(pinned, most));
  }
  return evict_to(most - std::min(most, wanted));
}

// A save that fails leaves nothing: a full disk would get no emptier by files that nobody names.
Result<PutOutcome> DiskStore::save(const NewEntry& entry, const std::vector<Sha256Digest>& links) {
  Writing writing{.links = links};
  auto saved = write(entry, writing);
  // What cannot be removed now is for collect(); the error of the save is the one to report.
  if (!saved) static_cast<void>(remove_unnamed(writing.added));
  return saved;
}

// Under the shared lock: what was seen to be there stays there until the index has it.
Result<PutOutcome> DiskStore::write(const NewEntry& entry, Writing& writing) {
  KVERN_TRY(const auto held, parts_.files.lock(options_.directory + "/lock", LockKind::kShared));
  KVERN_TRY(const auto same, same_entry(entry, writing.links));
  if (same && is_known_good(*same)) return PutOutcome::kThere;
  KVERN_TRY(writing.manifest, pack_entry(entry, {.page = chain_.page, .created_seconds = now_seconds()},
                                         [&](PackedBlock block) { return write_block(block, writing); }));
  if (writing.new_blocks > 0) {
    KVERN_TRY_STATUS(blocks_.sync());
  } else if (same && manifest(*same)) {
    know_good(*same);  // every block was looked at
    return PutOutcome::kThere;
  }
  writing.encoded = encode_manifest(writing.manifest);
  KVERN_TRY_STATUS(add_manifest(writing.encoded.name, writing.encoded.bytes, writing.added));
  KVERN_TRY_STATUS(manifests_.sync());
  counters_.bytes_written += writing.encoded.bytes.size();
  KVERN_TRY_STATUS(insert(entry, writing));
  know_good(writing.encoded.name);
  return PutOutcome::kSaved;
}

// The entry of these tokens that is as good as the new one, as far as the index knows; it counts as used now.
Result<std::optional<ContentName>> DiskStore::same_entry(const NewEntry& entry,
                                                         const std::vector<Sha256Digest>& links) {
  if (entry.has_extras() || entry.pinned) return std::optional<ContentName>();
  const MutexLock lock(mutex_);
  KVERN_TRY_STATUS(check_index());
  KVERN_TRY_STATUS(flush_touches());
  const LookupQuery query{.prompt = entry.tokens, .links = links, .page = chain_.page};
  KVERN_TRY(const auto same, index_->lookup().exact(query));
  if (!same || same->tokens < same->length || same->minimum > entry.minimum_reusable)
    return std::optional<ContentName>();
  KVERN_TRY_STATUS(index_->touch(same->manifest, now_seconds()));
  return std::optional(same->manifest);
}

void DiskStore::know_good(const ContentName& name) {
  const MutexLock lock(known_mutex_);
  // What is forgotten is looked at once more.
  if (known_good_.size() >= kMostKnown) known_good_.clear();
  known_good_.insert(name);
}

bool DiskStore::is_known_good(const ContentName& name) {
  const MutexLock lock(known_mutex_);
  return known_good_.contains(name);
}

Status DiskStore::write_block(const PackedBlock& block, Writing& writing) {
  const uint64_t bytes = block.bytes.size();
  writing.blocks.push_back({.name = block.name, .bytes = bytes, .first = block.first});
  KVERN_TRY(const bool there, is_there(block.name, block.bytes.bytes()));
  if (there) {
    ++counters_.blocks_reused;
    return Ok{};
  }
  KVERN_TRY_STATUS(add_block(block.name, block.bytes.bytes(), writing.added));
  ++writing.new_blocks;
  return Ok{};
}

Status DiskStore::add_block(const ContentName& name, std::span<const std::byte> bytes, AddedFiles& added) {
  if (!blocks_.exists(name)) added.blocks.push_back(name);
  KVERN_TRY_STATUS(blocks_.add(name, bytes));
  ++counters_.blocks_written;
  counters_.bytes_written += bytes.size();
  know_good(name);
  return Ok{};
}

Status DiskStore::add_manifest(const ContentName& name, std::span<const std::byte> bytes, AddedFiles& added) {
  if (!manifests_.exists(name)) added.manifests.push_back(name);
  return manifests_.add(name, bytes);
}

// Existence is not enough: a block that this process has neither written nor read is compared once.
Result<bool> DiskStore::is_there(const ContentName& name, std::span<const std::byte> bytes) {
  {
    const MutexLock lock(mutex_);
    KVERN_TRY_STATUS(check_index());
    KVERN_TRY(const auto size, index_->block_bytes(name));
    if (!size) return false;
  }
  if (is_known_good(name) && blocks_.exists(name)) return true;
  if (!blocks_.holds(name, bytes)) return false;
  know_good(name);
  return true;
}

Status DiskStore::insert(const NewEntry& entry, const Writing& writing) {
  const int64_t now = now_seconds();
  const MutexLock lock(mutex_);
  KVERN_TRY_STATUS(check_index());
  return index_->insert({.manifest = writing.encoded.name,
                         .manifest_bytes = writing.encoded.bytes.size(),
                         .model = writing.manifest.model,
                         .tokens = entry.tokens,
                         .links = writing.links,
                         .minimum = entry.minimum_reusable,
                         .blocks = writing.blocks,
                         .used = now,
                         .expires = entry.seconds_to_live > 0 ? now + entry.seconds_to_live : 0,
                         .pinned = entry.pinned,
                         .extras = entry.has_extras()});
}

}  // namespace kvern::store
