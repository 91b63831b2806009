// Removing, collecting, verifying, making the index again.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "store/block/block_format.h"
#include "store/block/manifest_format.h"
#include "store/disk/disk_store.h"
#include "store/disk/entry_parts.h"

namespace kvern::store {
namespace {

constexpr uint64_t kNoLimit = INT64_MAX;
/// More than any block that is written: the most positions of a page times what they may take.
constexpr uint64_t kMostBlockBytes = uint64_t{1} << 40;

/// Not so when it only cannot be looked at just now.
bool is_missing(Files& files, const std::string& path) {
  const auto kind = files.kind(path);
  return !kind && kind.error().code == ErrorCode::kNotFound;
}

}  // namespace

// Takes the lock of the directory before its own: whoever saves holds the former and waits for the latter.
Status DiskStore::evict_to(uint64_t bytes) {
  {
    const MutexLock lock(mutex_);
    KVERN_TRY_STATUS(check_index());
    KVERN_TRY(const int64_t evicted, index_->evict(bytes, now_seconds()));
    KVERN_TRY(const DoomedFiles doomed, index_->doomed());
    counters_.evicted += static_cast<uint64_t>(evicted);
    if (doomed.empty()) return Ok{};
  }
  KVERN_TRY(const auto held, parts_.files.lock(options_.directory + "/lock", LockKind::kExclusive));
  const MutexLock lock(mutex_);
  KVERN_TRY_STATUS(check_index());
  return remove_doomed();
}

// Under the exclusive lock: no save relies on these files. One that began before has taken them off the list.
Status DiskStore::remove_doomed() {
  KVERN_TRY(const DoomedFiles doomed, index_->doomed());
  if (doomed.empty()) return Ok{};
  for (const ContentName& name : doomed.manifests) {
    KVERN_TRY_STATUS(manifests_.remove(name));
    forget_good(name);
  }
  if (!doomed.manifests.empty()) KVERN_TRY_STATUS(manifests_.sync());
  for (const ContentName& name : doomed.blocks) {
    KVERN_TRY_STATUS(blocks_.remove(name));
    forget_good(name);
  }
  return index_->forget_doomed(doomed);
}

// Under the exclusive lock: of two who saved the same block, one may have been about to name it.
Status DiskStore::remove_unnamed(const AddedFiles& added) {
  if (added.blocks.empty() && added.manifests.empty()) return Ok{};
  KVERN_TRY(const auto held, parts_.files.lock(options_.directory + "/lock", LockKind::kExclusive));
  const MutexLock lock(mutex_);
  KVERN_TRY_STATUS(check_index());
  for (const ContentName& name : added.manifests) {
    KVERN_TRY(const bool named, index_->has_manifest(name));
    if (named) continue;
    KVERN_TRY_STATUS(manifests_.remove(name));
    forget_good(name);
  }
  for (const ContentName& name : added.blocks) {
    KVERN_TRY(const auto named, index_->block_bytes(name));
    if (named) continue;
    KVERN_TRY_STATUS(blocks_.remove(name));
    forget_good(name);
  }
  return Ok{};
}

// Whoever cleans up by hand, beside a running server, must not end its saving. The index is looked at, too:
// one that has no name any more would be lost at the end of this process.
Status DiskStore::replace_missing_parts() {
  const bool has_index = !is_missing(parts_.files, index_file().path);
  if (has_index && !is_missing(parts_.files, blocks_.folder()) &&
      !is_missing(parts_.files, manifests_.folder()))
    return Ok{};
  KVERN_TRY_STATUS(open_folders());
  warn("folders or files of saved state were removed from " + options_.directory +
       "; they are made again, and what was in them is lost");
  {
    const MutexLock lock(known_mutex_);
    known_good_.clear();
  }
  if (has_index) return Ok{};
  return rebuild_index({.code = ErrorCode::kNotFound, .message = "it was removed"});
}

Status DiskStore::set_max_bytes(uint64_t max_bytes) {
  KVERN_TRY_STATUS(check_writable());
  max_bytes_ = max_bytes;
  return evict_to_limit();
}

// The index, the journal, sessions, quarantine: what du counts besides entries. What cannot be looked at does
// not count.
uint64_t DiskStore::other_bytes() const {
  uint64_t sum = 0;
  const auto add_files = [&](const std::string& folder, const auto& entries) {
    for (const DirectoryEntry& entry : entries) {
      if (!entry.is_directory) sum += parts_.files.size_of(folder + "/" + entry.name).value_or(0);
    }
  };
  const auto entries = parts_.files.list(options_.directory);
  if (!entries) return 0;
  add_files(options_.directory, *entries);
  for (const DirectoryEntry& entry : *entries) {
    const std::string path = options_.directory + "/" + entry.name;
    if (!entry.is_directory || path == blocks_.folder() || path == manifests_.folder()) continue;
    if (const auto inner = parts_.files.list(path)) add_files(path, *inner);
  }
  return sum;
}

uint64_t DiskStore::most_entry_bytes() const {
  const uint64_t most = max_bytes_;
  if (most == 0 || options_.limit_of == LimitOf::kEntries) return most;
  const uint64_t others = other_bytes();
  return most > others ? most - others : 1;
}

Status DiskStore::evict_to_limit() {
  const uint64_t most = most_entry_bytes();
  return evict_to(most > 0 ? most : kNoLimit);
}

Status DiskStore::erase(const ContentName& manifest) {
  KVERN_TRY_STATUS(check_writable());
  KVERN_TRY(const auto held, parts_.files.lock(options_.directory + "/lock", LockKind::kExclusive));
  const MutexLock lock(mutex_);
  KVERN_TRY_STATUS(check_index());
  KVERN_TRY_STATUS(index_->remove(manifest));
  return remove_doomed();
}

Result<CollectReport> DiskStore::collect() {
  KVERN_TRY_STATUS(check_writable());
  const uint64_t evicted_before = counters_.evicted;
  KVERN_TRY_STATUS(evict_to_limit());
  KVERN_TRY(const auto held, parts_.files.lock(options_.directory + "/lock", LockKind::kExclusive));
  const MutexLock lock(mutex_);
  KVERN_TRY_STATUS(check_index());
  CollectReport report{.evicted = static_cast<int64_t>(counters_.evicted - evicted_before)};
  bool foreign = false;  // there are entries that only a later program can read
  KVERN_TRY(const FolderContents entries, manifests_.list());
  for (const ContentName& name : entries.names) {
    KVERN_TRY(const bool known, index_->has_manifest(name));
    if (known) continue;
    const auto bytes = manifests_.read(name, kMostManifestBytes);
    const auto decoded = bytes ? decode_manifest(name, bytes->bytes()) : std::unexpected(bytes.error());
    if (!decoded && decoded.error().code == ErrorCode::kUnsupported) {
      foreign = true;
      continue;
    }
    KVERN_TRY_STATUS(manifests_.remove(name));
    ++report.files_removed;
  }
  KVERN_TRY(const FolderContents blocks, blocks_.list());
  for (const ContentName& name : blocks.names) {
    KVERN_TRY(const auto known, index_->block_bytes(name));
    if (known || foreign) continue;
    KVERN_TRY_STATUS(blocks_.remove(name));
    ++report.files_removed;
  }
  for (const std::string& file : entries.unfinished) KVERN_TRY_STATUS(manifests_.remove_unfinished(file));
  for (const std::string& file : blocks.unfinished) KVERN_TRY_STATUS(blocks_.remove_unfinished(file));
  report.files_removed += std::ssize(entries.unfinished) + std::ssize(blocks.unfinished);
  report.strangers = entries.strangers + blocks.strangers;
  return report;
}

Result<VerifyReport> DiskStore::verify(const Progress& progress) {
  KVERN_TRY(const FolderContents entries, manifests_.list());
  KVERN_TRY(const FolderContents blocks, blocks_.list());
  VerifyReport report;
  const int64_t all = std::ssize(entries.names) + std::ssize(blocks.names);
  const auto go_on = [&] { return !progress || progress(report.entries + report.blocks, all); };
  for (const ContentName& name : entries.names) {
    verify_manifest(name, report);
    if (!go_on()) return report;
  }
  for (const ContentName& name : blocks.names) {
    verify_block(name, report);
    if (!go_on()) return report;
  }
  return report;
}

void DiskStore::verify_manifest(const ContentName& name, VerifyReport& report) {
  ++report.entries;
  const auto bytes = manifests_.read(name, kMostManifestBytes);
  const auto decoded = bytes ? decode_manifest(name, bytes->bytes(), BlockCheck::kName)
                             : Result<Manifest>(std::unexpected(bytes.error()));
  if (bytes) report.bytes += bytes->size();
  if (!decoded) {
    // It may have been removed meanwhile.
    if (decoded.error().code == ErrorCode::kNotFound) return;
    report.problems.push_back(decoded.error().to_string());
    return report_manifest(name, decoded.error());
  }
  for (size_t i = 0; i < decoded->pieces.size(); ++i) {
    const Status named = check_named_block(name, *decoded, i);
    if (named || !manifests_.exists(name)) continue;
    report.problems.push_back(named.error().to_string());
    // The entry is wrong; the block is somebody's.
    if (named.error().code == ErrorCode::kCorrupt) return report_manifest(name, named.error());
    report_block(*decoded->pieces[i].block, named.error());
  }
}

// That a block which an entry names is there (else kNotFound) and says of itself what the entry takes it for
// (else kCorrupt). One that is damaged says nothing, and is not the entry's fault.
Status DiskStore::check_named_block(const ContentName& entry, const Manifest& m, size_t piece) const {
  if (!m.pieces[piece].block) return Ok{};
  const ContentName& block = *m.pieces[piece].block;
  const BlockInfo wanted = block_info_of(m, piece);
  const auto head = blocks_.read_beginning(block, block_header_bytes(wanted));
  if (!head && head.error().code == ErrorCode::kNotFound)
    return fail(ErrorCode::kNotFound, "lacks the block " + block.to_string(), entry.to_string());
  if (head) {
    const auto info = decode_block_head(block, head->bytes.bytes(), head->file_bytes);
    if (info && *info == wanted) return Ok{};
  }
  const auto bytes = blocks_.read(block, kMostBlockBytes);
  const auto whole =
      bytes ? decode_block(block, bytes->bytes()) : Result<BlockView>(std::unexpected(bytes.error()));
  if (!whole || whole->info == wanted) return Ok{};
  return fail(ErrorCode::kCorrupt,
              "names the block " + block.to_string() + ", which is one " +
                  std::string(difference(whole->info, wanted)),
              entry.to_string());
}

void DiskStore::verify_block(const ContentName& name, VerifyReport& report) {
  ++report.blocks;
  const auto bytes = blocks_.read(name, kMostBlockBytes);
  const auto decoded = bytes ? decode_block(name, bytes->bytes(), BlockCheck::kName)
                             : Result<BlockView>(std::unexpected(bytes.error()));
  if (bytes) report.bytes += bytes->size();
  if (decoded || decoded.error().code == ErrorCode::kNotFound) return;
  report.problems.push_back(decoded.error().to_string());
  report_block(name, decoded.error());
}

std::unique_ptr<FileLock> DiskStore::hold() const {
  auto held = parts_.files.lock(options_.directory + "/lock", LockKind::kShared);
  return held ? *std::move(held) : nullptr;
}

Result<AlignedBuffer> DiskStore::manifest_file(const ContentName& name) {
  auto bytes = manifests_.read(name, kMostManifestBytes);
  const auto decoded =
      bytes ? decode_manifest(name, bytes->bytes()) : Result<Manifest>(std::unexpected(bytes.error()));
  if (!decoded) {
    report_manifest(name, decoded.error());
    return std::unexpected(decoded.error());
  }
  counters_.bytes_read += bytes->size();
  return bytes;
}

Result<AlignedBuffer> DiskStore::block_file(const ContentName& name) {
  auto bytes = blocks_.read(name, kMostBlockBytes);
  const auto decoded =
      bytes ? decode_block(name, bytes->bytes()) : Result<BlockView>(std::unexpected(bytes.error()));
  if (!decoded) {
    report_block(name, decoded.error());
    return std::unexpected(decoded.error());
  }
  counters_.bytes_read += bytes->size();
  return bytes;
}

Result<int64_t> DiskStore::reindex(const Progress& progress) {
  KVERN_TRY_STATUS(check_writable());
  int64_t entries = 0;
  {
    KVERN_TRY(const auto held, parts_.files.lock(options_.directory + "/lock", LockKind::kExclusive));
    const MutexLock lock(mutex_);
    KVERN_TRY_STATUS(check_index());
    KVERN_TRY_STATUS(flush_touches());
    // Files of entries that newer ones replaced would become entries again, some in place of the newer one.
    KVERN_TRY_STATUS(remove_doomed());
    KVERN_TRY(const auto before, list_entries(index_->database()));
    KVERN_TRY(entries, reindex_locked(before, progress));
  }
  KVERN_TRY_STATUS(open_reader());
  return entries;
}

// `before`: what only the index knows of entries, as far as it does.
Result<int64_t> DiskStore::reindex_locked(std::span<const ListedEntry> before, const Progress& progress) {
  std::unordered_map<ContentName, const ListedEntry*, ContentNameHash> uses;
  for (const ListedEntry& entry : before) uses.emplace(entry.manifest, &entry);
  KVERN_TRY_STATUS(index_->clear());
  KVERN_TRY(const FolderContents saved, manifests_.list());
  int64_t done = 0;
  for (const ContentName& name : saved.names) {
    const auto use = uses.find(name);
    auto added = index_manifest(name, use == uses.end() ? nullptr : use->second);
    // An entry that is damaged or lacks a block is garbage now; one of a later format is not ours.
    if (!added && added.error().code != ErrorCode::kCorrupt && added.error().code != ErrorCode::kNotFound &&
        added.error().code != ErrorCode::kUnsupported) {
      return std::unexpected(std::move(added).error());
    }
    if (progress && !progress(++done, std::ssize(saved.names))) break;
  }
  KVERN_TRY(const IndexTotals totals, index_totals(index_->database()));
  return totals.entries;
}

Status DiskStore::index_manifest(const ContentName& name, const ListedEntry* before) {
  const auto read = manifests_.read(name, kMostManifestBytes);
  if (!read) {
    if (read.error().code == ErrorCode::kCorrupt) refuse_manifest(name, read.error());
    return std::unexpected(read.error());
  }
  const AlignedBuffer& bytes = *read;
  auto decoded = decode_manifest(name, bytes.bytes(), BlockCheck::kName);
  if (!decoded) {
    if (decoded.error().code == ErrorCode::kCorrupt) refuse_manifest(name, decoded.error());
    return std::unexpected(std::move(decoded).error());
  }
  KVERN_TRY(IndexedEntry entry, indexed_entry(name, *decoded, bytes.size()));
  if (before != nullptr) {
    entry.used = before->used;
    entry.expires = before->expires;
    entry.pinned = before->pinned;
  }
  for (size_t i = 0; i < decoded->pieces.size(); ++i) {
    Status named = check_named_block(name, *decoded, i);
    if (named) continue;
    if (named.error().code == ErrorCode::kCorrupt) refuse_manifest(name, named.error());
    return named;
  }
  return index_->insert(entry);
}

void DiskStore::refuse_manifest(const ContentName& name, const Error& why) {
  ++counters_.damaged;
  warn("a saved prefix is damaged: " + why.to_string());
  static_cast<void>(manifests_.quarantine(name));
}

// What the index is to know of a manifest of so many bytes.
Result<IndexedEntry> DiskStore::indexed_entry(const ContentName& name, const Manifest& m,
                                              uint64_t bytes) const {
  if (m.page != chain_.page) {
    return fail(ErrorCode::kUnsupported,
                "a saved prefix has pages of " + std::to_string(m.page) + " positions, its directory of " +
                    std::to_string(chain_.page),
                name.to_string());
  }
  IndexedEntry entry{.manifest = name,
                     .manifest_bytes = bytes,
                     .model = m.model,
                     .tokens = m.tokens,
                     .links = prefix_chain(m.root, m.tokens, chain_),
                     .minimum = m.minimum_reusable,
                     .used = m.created_seconds,
                     .extras = !m.attachments.empty() || m.checkpoint.has_value()};
  for (size_t i = 0; i < m.pieces.size(); ++i) {
    const ManifestPiece& piece = m.pieces[i];
    if (!piece.block) continue;
    entry.blocks.push_back(
        {.name = *piece.block, .bytes = block_bytes_of(m, i), .first = piece.positions.begin});
  }
  return entry;
}

// Another index in place of a damaged one. Other processes that have that one open go on with it until they
// are started again; they see what they see, and check it.
Status DiskStore::rebuild_index(const Error& why) {
  warn("the index of saved state cannot be used and is made again: " + why.to_string());
  ++counters_.damaged;
  {
    KVERN_TRY(const auto held, parts_.files.lock(options_.directory + "/lock", LockKind::kExclusive));
    const MutexLock lock(mutex_);
    // One that was only removed still says what its entries are to their users.
    std::vector<ListedEntry> before;
    if (why.code == ErrorCode::kNotFound && index_ != nullptr)
      before = list_entries(index_->database()).value_or(std::vector<ListedEntry>());
    KVERN_TRY_STATUS(replace_index(before));
  }
  KVERN_TRY_STATUS(open_reader());
  return evict_to_limit();
}

Status DiskStore::replace_index(std::span<const ListedEntry> before) {
  index_.reset();
  unknown_manifests_.clear();
  {
    const MutexLock lock(reader_mutex_);
    reader_.reset();
    reader_database_.reset();
  }
  const std::string path = index_file().path;
  for (const char* ending : {"", "-wal", "-shm"}) {
    const auto removed = parts_.files.remove(path + ending);
    if (!removed && removed.error().code != ErrorCode::kNotFound) return removed;
  }
  KVERN_TRY_STATUS(parts_.files.sync_directory(options_.directory));
  KVERN_TRY(index_, PrefixIndex::open(index_file(), options_.chain));
  chain_.page = index_->page();
  KVERN_TRY_STATUS(reindex_locked(before, {}));
  return Ok{};
}

}  // namespace kvern::store
