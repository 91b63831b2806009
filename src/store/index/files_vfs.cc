#include "store/index/files_vfs.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mutex.h"

namespace kvern::store {
namespace {

constexpr int kMostPath = 512;
constexpr int kSectorBytes = 4096;

// What all connections to one file of this process agree on. Guarded by the mutex of the VFS.
struct Shared {
  int shared = 0;  // connections at SQLITE_LOCK_SHARED or above
  void* reserved = nullptr;
  void* pending = nullptr;
  void* exclusive = nullptr;
  struct Slot {
    int shared = 0;
    void* exclusive = nullptr;
  };
  std::array<Slot, SQLITE_SHM_NLOCK> slots;
  std::vector<std::unique_ptr<std::byte[]>> regions;
  int mappers = 0;
};

}  // namespace

struct FilesVfs::Impl {
  explicit Impl(Files& owner) : files(owner) {}
  Files& files;
  std::string name;
  sqlite3_vfs vfs{};
  Mutex mutex;
  std::map<std::string, std::weak_ptr<Shared>> shared KVERN_GUARDED_BY(mutex);
};

namespace {

struct OpenFile {
  sqlite3_file base;  // first: SQLite sees this
  FilesVfs::Impl* vfs;
  std::unique_ptr<File> file;
  std::string path;
  std::shared_ptr<Shared> shared;
  int lock;
  bool is_new;  // its name is not durable yet
  bool delete_on_close;
  bool maps;
  std::array<int, SQLITE_SHM_NLOCK> slots;  // 0, or what is held: SQLITE_SHM_SHARED or SQLITE_SHM_EXCLUSIVE
};

OpenFile& open_file(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file); }
FilesVfs::Impl& impl_of(sqlite3_vfs* vfs) { return *static_cast<FilesVfs::Impl*>(vfs->pAppData); }

int code_of(const Error& error, int otherwise) {
  return error.code == ErrorCode::kExhausted ? SQLITE_FULL : otherwise;
}

int read(sqlite3_file* file, void* out, int amount, sqlite3_int64 offset) {
  OpenFile& f = open_file(file);
  const auto wanted = static_cast<uint64_t>(amount);
  const auto at = static_cast<uint64_t>(offset);
  const auto size = f.file->size();
  if (!size) return SQLITE_IOERR_READ;
  const uint64_t there = *size > at ? std::min(wanted, *size - at) : 0;
  auto* bytes = static_cast<std::byte*>(out);
  if (there > 0 && !f.file->read_at(at, {bytes, static_cast<size_t>(there)})) return SQLITE_IOERR_READ;
  if (there == wanted) return SQLITE_OK;
  std::memset(bytes + there, 0, static_cast<size_t>(wanted - there));
  return SQLITE_IOERR_SHORT_READ;
}

int write(sqlite3_file* file, const void* data, int amount, sqlite3_int64 offset) {
  const std::span bytes(static_cast<const std::byte*>(data), static_cast<size_t>(amount));
  const auto written = open_file(file).file->write_at(static_cast<uint64_t>(offset), bytes);
  return written ? SQLITE_OK : code_of(written.error(), SQLITE_IOERR_WRITE);
}

// A database shrinks only when it is vacuumed, which an index never is.
int truncate(sqlite3_file* file, sqlite3_int64 bytes) {
  OpenFile& f = open_file(file);
  const auto size = f.file->size();
  if (!size) return SQLITE_IOERR_TRUNCATE;
  if (static_cast<uint64_t>(bytes) >= *size) return SQLITE_OK;
  if (bytes != 0) return SQLITE_IOERR_TRUNCATE;
  auto empty = f.vfs->files.open(f.path, OpenMode::kCreate);
  if (!empty) return SQLITE_IOERR_TRUNCATE;
  f.file = *std::move(empty);
  return SQLITE_OK;
}

int sync(sqlite3_file* file, int /*flags*/) {
  OpenFile& f = open_file(file);
  if (!f.file->sync()) return SQLITE_IOERR_FSYNC;
  if (!f.is_new) return SQLITE_OK;
  if (!f.vfs->files.sync_directory(parent_directory(f.path))) return SQLITE_IOERR_DIR_FSYNC;
  f.is_new = false;
  return SQLITE_OK;
}

int file_size(sqlite3_file* file, sqlite3_int64* out) {
  const auto size = open_file(file).file->size();
  if (!size) return SQLITE_IOERR_FSTAT;
  *out = static_cast<sqlite3_int64>(*size);
  return SQLITE_OK;
}

// SQLite's five steps (sqlite.org/lockingv3.html), among the connections of this process.
int lock(sqlite3_file* file, int level) {
  OpenFile& f = open_file(file);
  const MutexLock guard(f.vfs->mutex);
  Shared& s = *f.shared;
  if (f.lock >= level) return SQLITE_OK;
  if (f.lock == SQLITE_LOCK_NONE) {
    if (s.pending != nullptr || s.exclusive != nullptr) return SQLITE_BUSY;
    ++s.shared;
    f.lock = SQLITE_LOCK_SHARED;
  }
  if (level == SQLITE_LOCK_SHARED) return SQLITE_OK;
  if (s.reserved != nullptr && s.reserved != &f) return SQLITE_BUSY;
  s.reserved = &f;
  f.lock = std::max(f.lock, SQLITE_LOCK_RESERVED);
  if (level < SQLITE_LOCK_EXCLUSIVE) return SQLITE_OK;
  s.pending = &f;
  f.lock = SQLITE_LOCK_PENDING;
  if (s.shared > 1) return SQLITE_BUSY;
  s.exclusive = &f;
  f.lock = SQLITE_LOCK_EXCLUSIVE;
  return SQLITE_OK;
}

int unlock(sqlite3_file* file, int level) {
  OpenFile& f = open_file(file);
  const MutexLock guard(f.vfs->mutex);
  Shared& s = *f.shared;
  if (f.lock <= level) return SQLITE_OK;
  for (void** holder : {&s.reserved, &s.pending, &s.exclusive}) {
    if (*holder == &f) *holder = nullptr;
  }
  if (level == SQLITE_LOCK_NONE) --s.shared;
  f.lock = level;
  return SQLITE_OK;
}

int check_reserved_lock(sqlite3_file* file, int* out) {
  OpenFile& f = open_file(file);
  const MutexLock guard(f.vfs->mutex);
  *out = f.shared->reserved != nullptr ? 1 : 0;
  return SQLITE_OK;
}

int file_control(sqlite3_file* /*file*/, int /*operation*/, void* /*argument*/) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file* /*file*/) { return kSectorBytes; }
// What lies beside an unfinished write stays as it was.
int device_characteristics(sqlite3_file* /*file*/) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

int shm_map(sqlite3_file* file, int region, int bytes, int extend, void volatile** out) {
  OpenFile& f = open_file(file);
  const MutexLock guard(f.vfs->mutex);
  auto& regions = f.shared->regions;
  if (!f.maps) {
    f.maps = true;
    ++f.shared->mappers;
  }
  const auto index = static_cast<size_t>(region);
  if (index >= regions.size()) {
    *out = nullptr;
    if (extend == 0) return SQLITE_OK;
    regions.resize(index + 1);
  }
  if (regions[index] == nullptr) {
    regions[index] = std::make_unique<std::byte[]>(static_cast<size_t>(bytes));
    std::memset(regions[index].get(), 0, static_cast<size_t>(bytes));
  }
  *out = regions[index].get();
  return SQLITE_OK;
}

int shm_lock(sqlite3_file* file, int first, int count, int flags) {
  OpenFile& f = open_file(file);
  const MutexLock guard(f.vfs->mutex);
  const bool exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
  const bool take = (flags & SQLITE_SHM_LOCK) != 0;
  for (int i = first; take && i < first + count; ++i) {
    const Shared::Slot& slot = f.shared->slots[static_cast<size_t>(i)];
    const int mine = f.slots[static_cast<size_t>(i)] == SQLITE_SHM_SHARED ? 1 : 0;
    if (slot.exclusive != nullptr && slot.exclusive != &f) return SQLITE_BUSY;
    if (exclusive && slot.shared > mine) return SQLITE_BUSY;
  }
  for (int i = first; i < first + count; ++i) {
    Shared::Slot& slot = f.shared->slots[static_cast<size_t>(i)];
    int& held = f.slots[static_cast<size_t>(i)];
    if (held == SQLITE_SHM_SHARED) --slot.shared;
    if (held == SQLITE_SHM_EXCLUSIVE) slot.exclusive = nullptr;
    held = take ? (exclusive ? SQLITE_SHM_EXCLUSIVE : SQLITE_SHM_SHARED) : 0;
    if (held == SQLITE_SHM_SHARED) ++slot.shared;
    if (held == SQLITE_SHM_EXCLUSIVE) slot.exclusive = &f;
  }
  return SQLITE_OK;
}

void shm_barrier(sqlite3_file* file) { const MutexLock guard(open_file(file).vfs->mutex); }

int shm_unmap(sqlite3_file* file, int remove) {
  OpenFile& f = open_file(file);
  const MutexLock guard(f.vfs->mutex);
  if (!f.maps) return SQLITE_OK;
  f.maps = false;
  if (--f.shared->mappers == 0 && remove != 0) f.shared->regions.clear();
  return SQLITE_OK;
}

int close(sqlite3_file* file) {
  OpenFile& f = open_file(file);
  unlock(file, SQLITE_LOCK_NONE);
  shm_unmap(file, 0);
  if (f.delete_on_close) static_cast<void>(f.vfs->files.remove(f.path));
  f.~OpenFile();
  return SQLITE_OK;
}

constexpr sqlite3_io_methods kMethods = {.iVersion = 2,
                                         .xClose = close,
                                         .xRead = read,
                                         .xWrite = write,
                                         .xTruncate = truncate,
                                         .xSync = sync,
                                         .xFileSize = file_size,
                                         .xLock = lock,
                                         .xUnlock = unlock,
                                         .xCheckReservedLock = check_reserved_lock,
                                         .xFileControl = file_control,
                                         .xSectorSize = sector_size,
                                         .xDeviceCharacteristics = device_characteristics,
                                         .xShmMap = shm_map,
                                         .xShmLock = shm_lock,
                                         .xShmBarrier = shm_barrier,
                                         .xShmUnmap = shm_unmap,
                                         .xFetch = nullptr,
                                         .xUnfetch = nullptr};

int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* out, int flags, int* out_flags) {
  FilesVfs::Impl& impl = impl_of(vfs);
  out->pMethods = nullptr;
  if (path == nullptr) return SQLITE_CANTOPEN;  // temporary files: temp_store = MEMORY needs none
  const bool writes = (flags & SQLITE_OPEN_READWRITE) != 0;
  auto file = impl.files.open(path, writes ? OpenMode::kUpdate : OpenMode::kRead);
  const bool missing = !file && file.error().code == ErrorCode::kNotFound;
  const bool make = missing && (flags & SQLITE_OPEN_CREATE) != 0;
  if (make) file = impl.files.open(path, OpenMode::kCreate);
  if (!file) return SQLITE_CANTOPEN;
  std::shared_ptr<Shared> shared;
  {
    const MutexLock guard(impl.mutex);
    auto& known = impl.shared[path];
    shared = known.lock();
    if (shared == nullptr) known = shared = std::make_shared<Shared>();
  }
  new (out) OpenFile{.base = {&kMethods},
                     .vfs = &impl,
                     .file = *std::move(file),
                     .path = path,
                     .shared = std::move(shared),
                     .lock = SQLITE_LOCK_NONE,
                     .is_new = make,
                     .delete_on_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0,
                     .maps = false,
                     .slots = {}};
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int remove(sqlite3_vfs* vfs, const char* path, int sync_directory) {
  Files& files = impl_of(vfs).files;
  const auto removed = files.remove(path);
  if (!removed)
    return removed.error().code == ErrorCode::kNotFound ? SQLITE_IOERR_DELETE_NOENT : SQLITE_IOERR_DELETE;
  if (sync_directory != 0 && !files.sync_directory(parent_directory(path))) return SQLITE_IOERR_DIR_FSYNC;
  return SQLITE_OK;
}

int access(sqlite3_vfs* vfs, const char* path, int /*flags*/, int* out) {
  const auto kind = impl_of(vfs).files.kind(path);
  if (!kind && kind.error().code != ErrorCode::kNotFound) return SQLITE_IOERR_ACCESS;
  *out = kind ? 1 : 0;
  return SQLITE_OK;
}

int full_pathname(sqlite3_vfs* /*vfs*/, const char* path, int room, char* out) {
  const size_t length = std::strlen(path);
  if (length >= static_cast<size_t>(room)) return SQLITE_CANTOPEN;
  std::memcpy(out, path, length + 1);
  return SQLITE_OK;
}

int randomness(sqlite3_vfs* /*vfs*/, int bytes, char* out) {
  return ::getentropy(out, static_cast<size_t>(std::min(bytes, 256))) == 0 ? bytes : 0;
}

int sleep(sqlite3_vfs* /*vfs*/, int microseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  return microseconds;
}

// Julian day in milliseconds; only SQL functions of time ask, and the index has none.
int current_time(sqlite3_vfs* /*vfs*/, sqlite3_int64* out) {
  *out = 0;
  return SQLITE_OK;
}

int last_error(sqlite3_vfs* /*vfs*/, int /*room*/, char* /*out*/) { return 0; }

}  // namespace

FilesVfs::FilesVfs(Files& files) : impl_(std::make_unique<Impl>(files)) {
  impl_->name = fmt::format("kvern-{}", static_cast<const void*>(impl_.get()));
  sqlite3_vfs& vfs = impl_->vfs;
  vfs.iVersion = 2;
  vfs.szOsFile = sizeof(OpenFile);
  vfs.mxPathname = kMostPath;
  vfs.zName = impl_->name.c_str();
  vfs.pAppData = impl_.get();
  vfs.xOpen = open;
  vfs.xDelete = remove;
  vfs.xAccess = access;
  vfs.xFullPathname = full_pathname;
  vfs.xRandomness = randomness;
  vfs.xSleep = sleep;
  vfs.xGetLastError = last_error;
  vfs.xCurrentTimeInt64 = current_time;
  KVERN_CHECK(sqlite3_vfs_register(&vfs, 0) == SQLITE_OK);
}

FilesVfs::~FilesVfs() { sqlite3_vfs_unregister(&impl_->vfs); }

const char* FilesVfs::name() const { return impl_->name.c_str(); }

}  // namespace kvern::store
