// Opening, finding and reading.
#include "store/disk/disk_store.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "store/block/manifest_format.h"

namespace kvern::store {
namespace {

// Some more than a restore reads ahead.
constexpr size_t kKeptBuffers = size_t{96} << 20;

std::string join(const std::string& directory, std::string_view name) {
  return directory + "/" + std::string(name);
}

}  // namespace

DiskStore::DiskStore(const DiskParts& parts, const DiskOptions& options)
    : parts_(parts),
      options_(options),
      chain_(options.chain),
      buffers_(std::make_shared<BufferPool>(kKeptBuffers)),
      blocks_(parts.files, parts.io, join(options.directory, "blocks"),
              join(options.directory, "quarantine")),
      manifests_(parts.files, parts.io, join(options.directory, "manifests"),
                 join(options.directory, "quarantine")),
      max_bytes_(options.max_bytes) {}

DiskStore::~DiskStore() {
  const MutexLock lock(mutex_);
  if (index_ == nullptr) return;
  // What is lost is only when entries were used.
  static_cast<void>(flush_touches());
}

IndexFile DiskStore::index_file() const {
  return {.path = join(options_.directory, "index.db"), .vfs = vfs_ == nullptr ? nullptr : vfs_->name()};
}

int64_t DiskStore::now_seconds() const {
  const auto since = parts_.clock.wall_now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

void DiskStore::warn(const std::string& message) const { parts_.log.log(LogLevel::kWarning, message); }

Status DiskStore::check_writable() const {
  if (!options_.read_only) return Ok{};
  return fail(ErrorCode::kInvalidArgument, "this directory of saved state was opened for reading only",
              options_.directory);
}

Result<std::unique_ptr<DiskStore>> DiskStore::open(const DiskParts& parts, const DiskOptions& options) {
  if (options.chain.page < 1 || options.chain.page > int64_t{1} << 20)
    return fail(ErrorCode::kInvalidArgument, "a page of saved state has 1 to 2^20 positions");
  std::unique_ptr<DiskStore> store(new DiskStore(parts, options));
  if (!parts.files.is_system()) store->vfs_ = std::make_unique<FilesVfs>(parts.files);
  if (options.read_only || !options.create) KVERN_TRY_STATUS(store->check_is_store());
  if (options.read_only) {
    auto opened = store->open_reader();
    if (!opened && opened.error().code == ErrorCode::kCorrupt)
      opened.error().message += "; whoever may write there can have it made again";
    KVERN_TRY_STATUS(std::move(opened));
    return store;
  }
  KVERN_TRY_STATUS(store->check_may_become_store());
  KVERN_TRY_STATUS(store->open_folders());
  auto ready = store->begin();
  if (!ready && ready.error().code == ErrorCode::kCorrupt) ready = store->rebuild_index(ready.error());
  KVERN_TRY_STATUS(std::move(ready));
  return store;
}

// Nobody else's directory becomes a store by a slip of the pen.
Status DiskStore::check_is_store() const {
  const std::string& path = options_.directory;
  if (!parts_.files.exists(path)) return fail(ErrorCode::kNotFound, "there is no such directory", path);
  KVERN_TRY(const bool is_directory, parts_.files.is_directory(path));
  if (!is_directory)
    return fail(ErrorCode::kInvalidArgument, "is a file, not a directory of saved state", path);
  const bool has_index = parts_.files.exists(index_file().path);
  if (!has_index && !parts_.files.exists(join(path, "manifests"))) {
    return fail(ErrorCode::kInvalidArgument,
                "is not a directory of saved state: it has neither index.db nor manifests/", path);
  }
  if (!has_index && options_.read_only) {
    return fail(ErrorCode::kCorrupt,
                "the index of saved state is missing; whoever may write there can have it made again", path);
  }
  return Ok{};
}

// What a store makes, and what file systems put into their roots.
bool may_lie_in_a_new_store(const std::string& name) {
  static constexpr std::array<std::string_view, 6> kOurs = {"blocks",  "manifests", "quarantine",
                                                            "journal", "lock",      "lost+found"};
  return std::ranges::find(kOurs, name) != kOurs.end() || name.starts_with("index.db");
}

// A directory that somebody else uses does not become one, either: its files and ours would lie together.
Status DiskStore::check_may_become_store() const {
  const std::string& path = options_.directory;
  if (!parts_.files.exists(path)) return Ok{};
  KVERN_TRY(const bool is_directory, parts_.files.is_directory(path));
  if (!is_directory)
    return fail(ErrorCode::kInvalidArgument, "is a file, not a directory of saved state", path);
  if (parts_.files.exists(index_file().path) || parts_.files.exists(join(path, "manifests"))) return Ok{};
  KVERN_TRY(const auto entries, parts_.files.list(path));
  const auto other = std::ranges::find_if_not(entries, may_lie_in_a_new_store, &DirectoryEntry::name);
  if (other == entries.end()) return Ok{};
  return fail(ErrorCode::kInvalidArgument,
              "is not a directory of saved state, and not empty (" + other->name +
                  "): give an empty one, or one that is yet to be made",
              path);
}

Status DiskStore::begin() {
  KVERN_TRY_STATUS(open_database());
  KVERN_TRY_STATUS(open_reader());
  return set_max_bytes(options_.max_bytes);
}

Status DiskStore::open_folders() {
  KVERN_TRY_STATUS(make_durable_directory(parts_.files, options_.directory));
  KVERN_TRY_STATUS(blocks_.prepare());
  return manifests_.prepare();
}

// Under the lock, so that of several processes one makes the index.
Status DiskStore::open_database() {
  KVERN_TRY(const auto held, parts_.files.lock(join(options_.directory, "lock"), LockKind::kExclusive));
  const MutexLock lock(mutex_);
  KVERN_TRY(index_, PrefixIndex::open(index_file(), chain_));
  chain_.page = index_->page();
  if (index_->is_new()) {
    KVERN_TRY(const FolderContents saved, manifests_.list());
    if (!saved.names.empty()) {
      warn("saved state has no index; it is made again from " + std::to_string(saved.names.size()) +
           " entries");
      KVERN_TRY_STATUS(reindex_locked({}, {}));
    }
  }
  return remove_doomed();
}

Status DiskStore::open_reader() {
  const MutexLock lock(reader_mutex_);
  reader_.reset();
  reader_database_.reset();
  KVERN_TRY(OpenedIndex opened, open_index_read_only(index_file()));
  if (options_.read_only) chain_.page = opened.page;
  reader_database_ = std::make_unique<SqlDatabase>(std::move(opened.database));
  KVERN_TRY(PrefixLookup lookup, PrefixLookup::make(*reader_database_));
  reader_.emplace(std::move(lookup));
  return Ok{};
}

Result<std::optional<IndexHit>> DiskStore::find(const PrefixSpace& space, std::span<const int32_t> prompt) {
  ++counters_.lookups;
  const auto links = prefix_chain(space.root, prompt, chain_);
  const MutexLock lock(reader_mutex_);
  if (!reader_) return std::optional<IndexHit>();  // the index is being made again
  auto hit =
      reader_->longest({.prompt = prompt, .links = links, .page = chain_.page, .now_seconds = now_seconds()});
  if (!hit && hit.error().code == ErrorCode::kCorrupt) index_damaged_ = true;
  if (hit && hit->has_value()) ++counters_.hits;
  return hit;
}

Result<std::optional<IndexHit>> DiskStore::find_exact(const PrefixSpace& space,
                                                      std::span<const int32_t> tokens) {
  const auto links = prefix_chain(space.root, tokens, chain_);
  const MutexLock lock(reader_mutex_);
  if (!reader_) return std::optional<IndexHit>();
  return reader_->exact(
      {.prompt = tokens, .links = links, .page = chain_.page, .now_seconds = now_seconds()});
}

Result<bool> DiskStore::covers(const PrefixSpace& space, std::span<const int32_t> tokens) {
  const auto links = prefix_chain(space.root, tokens, chain_);
  const MutexLock lock(reader_mutex_);
  if (!reader_) return false;
  const LookupQuery query{
      .prompt = tokens, .links = links, .page = chain_.page, .now_seconds = now_seconds()};
  KVERN_TRY(const auto exact, reader_->exact(query));
  if (exact && exact->tokens == exact->length) return true;
  // An entry that goes on, whatever comes next.
  std::vector<int32_t> longer(tokens.begin(), tokens.end());
  longer.push_back(-1);
  const auto more_links = prefix_chain(space.root, longer, chain_);
  KVERN_TRY(
      const auto hit,
      reader_->longest(
          {.prompt = longer, .links = more_links, .page = chain_.page, .now_seconds = query.now_seconds}));
  return hit && hit->tokens == static_cast<int64_t>(tokens.size());
}

Result<Manifest> DiskStore::manifest(const ContentName& name) {
  auto bytes = manifests_.read(name, kMostManifestBytes);
  auto decoded = bytes ? decode_manifest(name, bytes->bytes()) : std::unexpected(bytes.error());
  if (bytes) counters_.bytes_read += bytes->size();
  if (!decoded) report_manifest(name, decoded.error());
  return decoded;
}

Result<Manifest> DiskStore::load(const PrefixSpace& space, std::span<const int32_t> prompt,
                                 const IndexHit& hit) {
  KVERN_TRY(Manifest m, manifest(hit.manifest));
  if (is_entry_of(m, {.space = space, .prompt = prompt, .tokens = hit.tokens, .page = chain_.page})) return m;
  // The index took one entry for another; the manifest itself may be as good as ever.
  Error error{.code = ErrorCode::kNotFound,
              .message = "the index of saved state names an entry of another prefix",
              .where = hit.manifest.to_string()};
  report_manifest(hit.manifest, error);
  return std::unexpected(std::move(error));
}

std::vector<Result<LoadedPiece>> DiskStore::read(const Manifest& manifest, std::span<const size_t> pieces) {
  std::vector<BlockRead> reads;
  for (const size_t index : pieces) {
    const ManifestPiece& piece = manifest.pieces.at(index);
    if (!piece.block) continue;
    reads.push_back(
        {.path = blocks_.path(*piece.block), .buffer = buffers_->take(block_bytes_of(manifest, index))});
  }
  parts_.io.read(reads);
  std::vector<Result<LoadedPiece>> loaded;
  auto next = reads.begin();
  for (const size_t index : pieces) {
    const ManifestPiece& piece = manifest.pieces[index];
    if (piece.block) {
      loaded.push_back(check_piece(manifest, index, *next++));
      if (!loaded.back()) report_block(*piece.block, loaded.back().error());
    } else {
      loaded.push_back(LoadedPiece{.buffer = {}, .bytes = piece.data});
    }
  }
  return loaded;
}

// That a block is the one that the manifest means, and whole.
Result<LoadedPiece> DiskStore::check_piece(const Manifest& m, size_t index, BlockRead& read) {
  KVERN_TRY_STATUS(std::move(read.status));
  const ManifestPiece& piece = m.pieces[index];
  KVERN_TRY(const BlockView view, decode_block(*piece.block, read.buffer.bytes()));
  // The block is whole, and others may need it: it is the manifest that is wrong.
  if (view.info != block_info_of(m, index))
    return fail(ErrorCode::kInvalidArgument, "a block is not what its manifest says",
                piece.block->to_string());
  counters_.bytes_read += read.buffer.size();
  know_good(*piece.block);
  return LoadedPiece{.buffer = std::move(read.buffer), .bytes = view.payload};
}

void DiskStore::report_block(const ContentName& name, const Error& error) {
  ++counters_.damaged;
  warn("a block of saved state cannot be used: " + error.to_string());
  forget_good(name);
  if (options_.read_only) return;
  if (error.code == ErrorCode::kCorrupt) static_cast<void>(blocks_.quarantine(name));
  // An error that may go away says nothing about the block.
  if (error.code != ErrorCode::kCorrupt && error.code != ErrorCode::kNotFound) return;
  const MutexLock lock(mutex_);
  if (index_ == nullptr) return;
  if (const auto lost = index_->lose_block(name); !lost) warn(lost.error().to_string());
}

void DiskStore::report_manifest(const ContentName& name, const Error& error) {
  ++counters_.damaged;
  warn("a saved prefix cannot be used: " + error.to_string());
  forget_good(name);
  if (options_.read_only) return;
  if (error.code == ErrorCode::kCorrupt) static_cast<void>(manifests_.quarantine(name));
  if (error.code != ErrorCode::kCorrupt && error.code != ErrorCode::kNotFound) return;
  const MutexLock lock(mutex_);
  if (index_ == nullptr) return;
  const auto removed = index_->remove(name);
  if (removed) return;
  if (removed.error().code != ErrorCode::kNotFound) warn(removed.error().to_string());
  // Another lookup may have been quicker, but not again and again: an index that goes on naming what it does
  // not have contradicts itself.
  if (!unknown_manifests_.insert(name).second) index_damaged_ = true;
}

void DiskStore::distrust(const PrefixSpace& space, std::span<const int32_t> tokens) {
  for_entries_of(
      tokens, [&](std::span<const int32_t> prompt) { return find(space, prompt); },
      [&](const ContentName& name) { report_manifest(name, no_good(name)); });
}

void DiskStore::touch(const ContentName& manifest) {
  if (options_.read_only) return;
  const MutexLock lock(touch_mutex_);
  touched_.insert(manifest);
}

Status DiskStore::check_index() const {
  if (index_ != nullptr) return Ok{};
  return fail(ErrorCode::kCorrupt, "the index of saved state is damaged and could not be made again yet",
              options_.directory);
}

void DiskStore::forget_good(const ContentName& name) {
  const MutexLock lock(known_mutex_);
  known_good_.erase(name);
}

Status DiskStore::flush_touches() {
  std::unordered_set<ContentName, ContentNameHash> touched;
  {
    const MutexLock lock(touch_mutex_);
    touched = std::exchange(touched_, {});
  }
  const int64_t now = now_seconds();
  for (const ContentName& name : touched) KVERN_TRY_STATUS(index_->touch(name, now));
  return Ok{};
}

template <typename Query>
auto DiskStore::ask(const Query& query) -> decltype(query(std::declval<SqlDatabase&>())) {
  if (options_.read_only) {
    const MutexLock lock(reader_mutex_);
    return query(*reader_database_);
  }
  const MutexLock lock(mutex_);
  KVERN_TRY_STATUS(check_index());
  KVERN_TRY_STATUS(flush_touches());
  return query(index_->database());
}

Result<std::vector<ListedEntry>> DiskStore::list() {
  return ask([](SqlDatabase& database) { return list_entries(database); });
}

Result<EntryDetails> DiskStore::details(const ContentName& manifest) {
  KVERN_TRY(const auto entries, list());
  const auto found = std::ranges::find(entries, manifest, &ListedEntry::manifest);
  if (found == entries.end()) return fail(ErrorCode::kNotFound, "no such saved prefix", manifest.to_string());
  KVERN_TRY(const BlockUse use, ask([&](SqlDatabase& database) { return block_use(database, manifest); }));
  return EntryDetails{.entry = *found, .blocks = use};
}

Status DiskStore::set_pinned(const ContentName& manifest, bool pinned) {
  KVERN_TRY_STATUS(check_writable());
  const MutexLock lock(mutex_);
  KVERN_TRY_STATUS(check_index());
  return index_->set_pinned(manifest, pinned);
}

Status DiskStore::pin_within_share(const ContentName& manifest) {
  KVERN_TRY_STATUS(check_writable());
  const uint64_t most = max_bytes_;
  if (most == 0) return set_pinned(manifest, true);
  const MutexLock lock(mutex_);
  KVERN_TRY_STATUS(check_index());
  KVERN_TRY(const auto too_many, index_->pin_within(manifest, most / 2));
  if (!too_many) return Ok{};
  return fail(ErrorCode::kExhausted, "pinned prefixes would take " + std::to_string(*too_many) +
                                         " bytes with this one, and at most " + std::to_string(most / 2) +
                                         ", half of what the directory may hold, can be pinned: let some go "
                                         "(sessions pin theirs), or allow the directory more");
}

Status DiskStore::set_seconds_to_live(const ContentName& manifest, int64_t seconds) {
  KVERN_TRY_STATUS(check_writable());
  const MutexLock lock(mutex_);
  KVERN_TRY_STATUS(check_index());
  return index_->set_expiry(manifest, seconds > 0 ? now_seconds() + seconds : 0);
}

Result<DiskStats> DiskStore::stats() {
  DiskStats stats{.lookups = counters_.lookups,
                  .hits = counters_.hits,
                  .saved = counters_.saved,
                  .blocks_written = counters_.blocks_written,
                  .blocks_reused = counters_.blocks_reused,
                  .bytes_written = counters_.bytes_written,
                  .bytes_read = counters_.bytes_read,
                  .evicted = counters_.evicted,
                  .damaged = counters_.damaged};
  KVERN_TRY(stats.totals, ask([](SqlDatabase& database) { return index_totals(database); }));
  stats.other_bytes = other_bytes();
  return stats;
}

}  // namespace kvern::store
