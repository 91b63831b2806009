// Saved prefixes in a directory:
//
//   blocks/      state, by content      manifests/   entries, by content
//   index.db     SQLite; says what there is, can be made again from the files
//   quarantine/  what was found damaged     lock     held while files come or go
//
// Order of a save: blocks, their directory, the manifest, its directory, then one commit of the index. Order
// of a removal: one commit, then the files. So a crash at any instant leaves the old or the new state, and
// files that nobody names, which the next removal or collect() takes. A save that fails takes back what it
// has written. What is read is checked: a damaged or missing file is a miss, reported, put into quarantine,
// and never served.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "store/block/manifest.h"
#include "store/disk/content_files.h"
#include "store/disk/entry_parts.h"
#include "store/disk/new_entry.h"
#include "store/index/files_vfs.h"
#include "store/index/prefix_index.h"
#include "store/prefix/prefix_chain.h"
#include "store/prefix/prefix_space.h"

namespace kvern::store {

/// What a limit counts.
enum class LimitOf : uint8_t {
  kDirectory,  ///< all files in it: also the index, the journal, what is in quarantine
  kEntries,    ///< blocks and manifests
};

struct DiskOptions {
  std::string directory;   ///< its parent exists
  uint64_t max_bytes = 0;  ///< 0 = no limit
  LimitOf limit_of = LimitOf::kDirectory;
  bool read_only = false;  ///< nothing is written or moved
  bool create = true;      ///< else a directory that is no store is an error
  ChainOptions chain;      ///< a directory keeps the page that it was made with
};

/// Borrowed; they outlive the store.
struct DiskParts {
  Files& files;
  BlockIo& io;
  const Clock& clock;
  LogSink& log;
};

struct DiskStats {
  IndexTotals totals;
  uint64_t other_bytes = 0;  ///< of the directory's files that are no blocks and no manifests
  uint64_t lookups = 0;
  uint64_t hits = 0;   ///< lookups that found something
  uint64_t saved = 0;  ///< entries
  uint64_t blocks_written = 0;
  uint64_t blocks_reused = 0;  ///< that a save found there
  uint64_t bytes_written = 0;
  uint64_t bytes_read = 0;
  uint64_t evicted = 0;
  uint64_t damaged = 0;  ///< files found damaged or missing
};

enum class PutOutcome : uint8_t {
  kSaved,
  kThere,     ///< an entry of these tokens was there already
  kTooLarge,  ///< more than max_bytes leaves for entries
};

struct CollectReport {
  int64_t evicted = 0;        ///< entries that had expired, or were too many
  int64_t files_removed = 0;  ///< that nobody names
  int64_t strangers = 0;      ///< files that are not ours; left alone
};

struct VerifyReport {
  int64_t entries = 0;
  int64_t blocks = 0;
  uint64_t bytes = 0;
  std::vector<std::string> problems;
};

/// All that is known of an entry without its manifest.
struct EntryDetails {
  ListedEntry entry;
  BlockUse blocks;
};

/// `done` of `all` steps; false stops.
using Progress = std::function<bool(int64_t done, int64_t all)>;

/// A piece of an entry in memory.
struct LoadedPiece {
  AlignedBuffer buffer;
  std::span<const std::byte> bytes;  ///< in the buffer, or in the manifest
};

/// Thread-safe. find() waits for no save; the others wait for each other.
class DiskStore {
 public:
  /// Makes the directory or takes over what is there: of any model, by any number of processes. An index that
  /// is missing or damaged is made again. Removes what exceeds max_bytes. kNotFound, kInvalidArgument where
  /// no store is and none may be made (as where other files lie); kUnsupported for one of a later format;
  /// read-only: kCorrupt where the index must be made again.
  static Result<std::unique_ptr<DiskStore>> open(const DiskParts& parts, const DiskOptions& options);
  ~DiskStore();
  DiskStore(const DiskStore&) = delete;
  DiskStore& operator=(const DiskStore&) = delete;

  int64_t page() const { return chain_.page; }
  bool read_only() const { return options_.read_only; }

  /// Returns when the entry is durable and has its place. An error leaves what was there; kExhausted: what is
  /// pinned leaves no room. Folders and an index that somebody removed are made again.
  Result<PutOutcome> put(const NewEntry& entry);

  /// The entry that gives most of a prompt: see PrefixLookup. No file but the index is read.
  Result<std::optional<IndexHit>> find(const PrefixSpace& space, std::span<const int32_t> prompt);
  /// The entry of exactly these tokens.
  Result<std::optional<IndexHit>> find_exact(const PrefixSpace& space, std::span<const int32_t> tokens);
  /// Whether the state of exactly these tokens is on disk.
  Result<bool> covers(const PrefixSpace& space, std::span<const int32_t> tokens);

  /// Reads the manifest of a hit and compares it with the prompt and its identity. kNotFound when it is gone,
  /// kCorrupt when it is not what it should be; the entry is forgotten then.
  Result<Manifest> load(const PrefixSpace& space, std::span<const int32_t> prompt, const IndexHit& hit);
  /// Reads pieces of a manifest (indexes into its pieces), several at a time. By piece: kNotFound, kCorrupt
  /// and kIo are reported and remembered, so that entries are used only up to there.
  std::vector<Result<LoadedPiece>> read(const Manifest& manifest, std::span<const size_t> pieces);
  /// Puts the entries that give these tokens into quarantine: their files are whole, and what they hold is no
  /// good.
  void distrust(const PrefixSpace& space, std::span<const int32_t> tokens);
  /// Notes that an entry was of use; written with the next save.
  void touch(const ContentName& manifest);

  /// kNotFound when there is no such entry.
  Status erase(const ContentName& manifest);
  Status set_pinned(const ContentName& manifest, bool pinned);
  /// Pins it, unless more than half of max_bytes would be pinned then: kExhausted says how much is.
  Status pin_within_share(const ContentName& manifest);
  /// From now on; 0 = for ever.
  Status set_seconds_to_live(const ContentName& manifest, int64_t seconds);
  /// Takes effect at once.
  Status set_max_bytes(uint64_t max_bytes);
  /// Most recently used first.
  Result<std::vector<ListedEntry>> list();
  /// kNotFound when there is no such entry.
  Result<EntryDetails> details(const ContentName& manifest);
  Result<Manifest> manifest(const ContentName& name);

  /// The files of entries as they are, checked by checksum; as manifest() and read() say. While `hold` lives
  /// nobody removes any; null where nothing can be locked.
  std::unique_ptr<FileLock> hold() const;
  Result<AlignedBuffer> manifest_file(const ContentName& name);
  Result<AlignedBuffer> block_file(const ContentName& name);

  /// Removes expired entries and the files that no entry names. Blocks of entries that this program cannot
  /// read stay.
  Result<CollectReport> collect();
  /// Reads everything, names included, and looks whether the blocks that entries name are there and what the
  /// entries take them for; what is damaged or wrong goes into quarantine (not when read-only).
  Result<VerifyReport> verify(const Progress& progress = {});
  /// Makes the index again from manifests and blocks; pins, times of use and of expiry stay where they are
  /// known. Entries that lack a block, or name one that is another's, are not among them. How many entries it
  /// has.
  Result<int64_t> reindex(const Progress& progress = {});
  Result<DiskStats> stats();

 private:
  friend class IncomingEntries;
  DiskStore(const DiskParts& parts, const DiskOptions& options);
  Status begin();
  Status check_is_store() const;
  Status check_may_become_store() const;
  Status open_folders();
  Status open_database();
  Status open_reader();
  IndexFile index_file() const;
  int64_t now_seconds() const;
  void warn(const std::string& message) const;

  struct Writing;
  /// Files that were not there before somebody began to save.
  struct AddedFiles {
    std::vector<ContentName> blocks;
    std::vector<ContentName> manifests;
  };
  Result<PutOutcome> save(const NewEntry& entry, const std::vector<Sha256Digest>& links);
  Result<PutOutcome> write(const NewEntry& entry, Writing& writing);
  Status add_block(const ContentName& name, std::span<const std::byte> bytes, AddedFiles& added);
  Status add_manifest(const ContentName& name, std::span<const std::byte> bytes, AddedFiles& added);
  /// Takes back what nobody's entry has come to name. Without the directory's lock.
  Status remove_unnamed(const AddedFiles& added);
  Status replace_missing_parts();
  Status write_block(const PackedBlock& block, Writing& writing);
  Result<bool> is_there(const ContentName& name, std::span<const std::byte> bytes);
  Status make_room(const NewEntry& entry, const std::vector<Sha256Digest>& links);
  Status check_kept(const NewEntry& entry, const std::vector<Sha256Digest>& links);
  Error no_room(uint64_t pinned, uint64_t most) const;
  /// What max_bytes leaves for entries; 0 = no limit.
  uint64_t most_entry_bytes() const;
  /// Down to what there is room for; without a limit only what has expired.
  Status evict_to_limit();
  uint64_t other_bytes() const;
  Status insert(const NewEntry& entry, const Writing& writing);
  Status evict_to(uint64_t bytes);
  Status remove_doomed() KVERN_REQUIRES(mutex_);
  Status flush_touches() KVERN_REQUIRES(mutex_);
  Status replace_index(std::span<const ListedEntry> before) KVERN_REQUIRES(mutex_);
  Status rebuild_index(const Error& why);
  Result<PutOutcome> try_put(const NewEntry& entry, const std::vector<Sha256Digest>& links);
  Result<int64_t> reindex_locked(std::span<const ListedEntry> before, const Progress& progress)
      KVERN_REQUIRES(mutex_);
  Status index_manifest(const ContentName& name, const ListedEntry* before) KVERN_REQUIRES(mutex_);
  void refuse_manifest(const ContentName& name, const Error& why);
  Result<IndexedEntry> indexed_entry(const ContentName& name, const Manifest& manifest, uint64_t bytes) const;
  Status check_named_block(const ContentName& entry, const Manifest& manifest, size_t piece) const;
  void verify_manifest(const ContentName& name, VerifyReport& report);
  void verify_block(const ContentName& name, VerifyReport& report);
  /// Of the connection that writes, or read-only of the other.
  template <typename Query>
  auto ask(const Query& query) -> decltype(query(std::declval<SqlDatabase&>()));
  Result<LoadedPiece> check_piece(const Manifest& manifest, size_t piece, BlockRead& read);
  void report_block(const ContentName& name, const Error& error);
  void report_manifest(const ContentName& name, const Error& error);
  Status check_writable() const;
  Status check_index() const KVERN_REQUIRES(mutex_);
  Result<std::optional<ContentName>> same_entry(const NewEntry& entry,
                                                const std::vector<Sha256Digest>& links);
  void know_good(const ContentName& name);
  bool is_known_good(const ContentName& name);
  void forget_good(const ContentName& name);

  DiskParts parts_;
  DiskOptions options_;
  ChainOptions chain_;
  std::unique_ptr<FilesVfs> vfs_;        // null on the operating system's files
  std::shared_ptr<BufferPool> buffers_;  // for what is read
  ContentFiles blocks_;
  ContentFiles manifests_;

  Mutex mutex_;  // of the connection that writes
  std::unique_ptr<PrefixIndex> index_ KVERN_GUARDED_BY(mutex_);
  // That lookups gave and the index did not know when they were to be removed; until it is made again.
  std::unordered_set<ContentName, ContentNameHash> unknown_manifests_ KVERN_GUARDED_BY(mutex_);
  std::unordered_set<ContentName, ContentNameHash> touched_ KVERN_GUARDED_BY(touch_mutex_);
  Mutex touch_mutex_;
  std::atomic<uint64_t> max_bytes_;
  std::atomic<bool> index_damaged_ = false;

  Mutex reader_mutex_;  // of the connection that only reads
  std::unique_ptr<SqlDatabase> reader_database_ KVERN_GUARDED_BY(reader_mutex_);
  std::optional<PrefixLookup> reader_ KVERN_GUARDED_BY(reader_mutex_);

  // Blocks that were written or read whole by this process.
  Mutex known_mutex_;
  std::unordered_set<ContentName, ContentNameHash> known_good_ KVERN_GUARDED_BY(known_mutex_);

  struct Counters {
    std::atomic<uint64_t> lookups = 0, hits = 0, saved = 0, blocks_written = 0, blocks_reused = 0,
                          bytes_written = 0, bytes_read = 0, evicted = 0, damaged = 0;
  };
  Counters counters_;
};

}  // namespace kvern::store
