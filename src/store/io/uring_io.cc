// Files past the page cache, many at once: io_uring (liburing) and O_DIRECT. What the page cache has is taken
// from there. Where the kernel has no io_uring, or forbids it, files are read and written one after the
// other; where a file system has no direct I/O, through the page cache.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <liburing.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mutex.h"
#include "store/io/block_io.h"

namespace kvern::store {
namespace {

constexpr unsigned kQueueDepth = 32;
// Larger ones are cut by the kernel anyway, and several in flight keep the disk busy.
constexpr size_t kMostTransfer = size_t{1} << 20;
constexpr mode_t kFileMode = 0666;  // the umask takes away what the user does not want

std::unexpected<Error> fail_errno(int error, std::string_view action, const std::string& path) {
  ErrorCode code = ErrorCode::kIo;
  if (error == ENOENT) code = ErrorCode::kNotFound;
  if (error == ENOSPC || error == EDQUOT || error == ENOMEM || error == EMFILE || error == ENFILE)
    code = ErrorCode::kExhausted;
  return std::unexpected(Error{.code = code,
                               .message = "cannot " + std::string(action) + ": " +
                                          std::error_code(error, std::generic_category()).message(),
                               .where = path,
                               .retryable = code == ErrorCode::kExhausted});
}

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

class Ring {
 public:
  static std::unique_ptr<Ring> make() {
    auto ring = std::make_unique<Ring>();
    ring->good_ = ::io_uring_queue_init(kQueueDepth, &ring->ring_, 0) == 0;
    return ring->good_ ? std::move(ring) : nullptr;
  }
  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    if (good_) ::io_uring_queue_exit(&ring_);
  }
  io_uring* get() { return &ring_; }

 private:
  io_uring ring_{};
  bool good_ = false;
};

// A part of a file that is to be moved.
struct Transfer {
  size_t file = 0;
  int fd = -1;
  std::byte* data = nullptr;
  size_t bytes = 0;
  uint64_t offset = 0;
};

void cut(std::vector<Transfer>& transfers, const Transfer& whole) {
  for (size_t at = 0; at < whole.bytes; at += kMostTransfer) {
    transfers.push_back({.file = whole.file,
                         .fd = whole.fd,
                         .data = whole.data + at,
                         .bytes = std::min(kMostTransfer, whole.bytes - at),
                         .offset = whole.offset + at});
  }
}

// Moves all transfers, as many at a time as the ring has room for. failed(file, errno) is called for a file
// whose part did not move (0: it ended too early).
template <typename Prepare, typename Failed>
void move_all(Ring& ring, std::vector<Transfer>& transfers, const Prepare& prepare, const Failed& failed) {
  size_t next = 0;
  size_t in_flight = 0;
  std::vector<size_t> again;
  while (next < transfers.size() || !again.empty() || in_flight > 0) {
    while (in_flight < kQueueDepth && (next < transfers.size() || !again.empty())) {
      io_uring_sqe* entry = ::io_uring_get_sqe(ring.get());
      if (entry == nullptr) break;
      const size_t index = again.empty() ? next++ : again.back();
      if (!again.empty() && index == again.back()) again.pop_back();
      prepare(entry, transfers[index]);
      ::io_uring_sqe_set_data64(entry, index);
      ++in_flight;
    }
    int submitted = ::io_uring_submit_and_wait(ring.get(), 1);
    if (submitted < 0 && submitted != -EINTR && submitted != -EAGAIN && submitted != -EBUSY) {
      // Nothing can be said of what is in flight but that the buffers must stay until it is over.
      for (const Transfer& transfer : transfers) failed(transfer.file, -submitted);
      next = transfers.size();
      again.clear();
    }
    io_uring_cqe* done = nullptr;
    while (in_flight > 0 && ::io_uring_peek_cqe(ring.get(), &done) == 0) {
      Transfer& transfer = transfers[static_cast<size_t>(::io_uring_cqe_get_data64(done))];
      const int result = done->res;
      ::io_uring_cqe_seen(ring.get(), done);
      --in_flight;
      if (result == -EINTR || result == -EAGAIN) {
        again.push_back(static_cast<size_t>(&transfer - transfers.data()));
      } else if (result <= 0) {
        failed(transfer.file, -result);
      } else if (static_cast<size_t>(result) < transfer.bytes) {
        transfer.data += result;
        transfer.bytes -= static_cast<size_t>(result);
        transfer.offset += static_cast<uint64_t>(result);
        again.push_back(static_cast<size_t>(&transfer - transfers.data()));
      }
    }
  }
}

bool is_aligned(std::span<const std::byte> bytes) {
  return reinterpret_cast<uintptr_t>(bytes.data()) % kIoAlignment == 0 && bytes.size() % kIoAlignment == 0;
}

// Whether the page cache has all of a file of `bytes` bytes.
bool is_cached(int fd, size_t bytes) {
  if (bytes == 0) return true;
  void* address = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) return false;
  std::vector<unsigned char> pages((bytes + kIoAlignment - 1) / kIoAlignment);
  const bool known = ::mincore(address, bytes, pages.data()) == 0;
  ::munmap(address, bytes);
  return known && std::ranges::all_of(pages, [](unsigned char page) { return (page & 1) != 0; });
}

class UringIo final : public BlockIo {
 public:
  explicit UringIo(std::unique_ptr<Ring> first) { rings_.push_back(std::move(first)); }

  void read(std::span<BlockRead> reads) override {
    std::vector<Descriptor> files(reads.size());
    std::vector<Transfer> transfers;
    for (size_t i = 0; i < reads.size(); ++i) {
      reads[i].status = begin_read(reads[i], files[i], {.file = i}, transfers);
    }
    transfer(transfers, reads, "read", [](io_uring_sqe* entry, const Transfer& t) {
      ::io_uring_prep_read(entry, t.fd, t.data, static_cast<unsigned>(t.bytes), t.offset);
    });
  }

  void write(std::span<BlockWrite> writes) override {
    std::vector<Descriptor> files(writes.size());
    std::vector<Transfer> transfers;
    for (size_t i = 0; i < writes.size(); ++i) {
      writes[i].status = begin_write(writes[i], files[i]);
      // The ring wants memory that it could write to; it only reads it.
      auto* data = const_cast<std::byte*>(writes[i].bytes.data());
      if (writes[i].status) cut(transfers, {i, files[i].get(), data, writes[i].bytes.size(), 0});
    }
    transfer(transfers, writes, "write", [](io_uring_sqe* entry, const Transfer& t) {
      ::io_uring_prep_write(entry, t.fd, t.data, static_cast<unsigned>(t.bytes), t.offset);
    });
    for (size_t i = 0; i < writes.size(); ++i) {
      if (writes[i].status && ::fsync(files[i].get()) != 0)
        writes[i].status = fail_errno(errno, "sync", writes[i].path);
    }
  }

  std::string description() const override { return "io_uring, past the page cache where it can be"; }

 private:
  // From the page cache where it has the file, else past it.
  static Status begin_read(BlockRead& r, Descriptor& file, Transfer transfer,
                           std::vector<Transfer>& transfers) {
    // Before it is opened, which for a pipe would wait for a writer.
    struct stat info{};
    if (::stat(r.path.c_str(), &info) != 0) return fail_errno(errno, "open", r.path);
    if (!S_ISREG(info.st_mode)) return fail(ErrorCode::kCorrupt, "is not a regular file", r.path);
    file = Descriptor(::open(r.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return fail_errno(errno, "open", r.path);
    if (static_cast<uint64_t>(info.st_size) != r.buffer.size()) {
      return fail(ErrorCode::kCorrupt,
                  "the file has " + std::to_string(info.st_size) + " bytes and not " +
                      std::to_string(r.buffer.size()),
                  r.path);
    }
    const std::span<std::byte> bytes = r.buffer.bytes();
    // A look that reads nothing: a read that must not wait would begin to fill the page cache.
    const bool direct = is_aligned(bytes) && !is_cached(file.get(), bytes.size());
    // Without direct I/O, EINVAL, the same file goes through the page cache.
    if (direct) static_cast<void>(::fcntl(file.get(), F_SETFL, O_DIRECT));
    transfer.fd = file.get();
    transfer.data = bytes.data();
    transfer.bytes = bytes.size();
    cut(transfers, transfer);
    return Ok{};
  }

  static Status begin_write(const BlockWrite& w, Descriptor& file) {
    file = Descriptor(::open(w.path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode));
    if (file.get() < 0) return fail_errno(errno, "create", w.path);
    if (is_aligned(w.bytes)) static_cast<void>(::fcntl(file.get(), F_SETFL, O_DIRECT));
    return Ok{};
  }

  template <typename Item, typename Prepare>
  void transfer(std::vector<Transfer>& transfers, std::span<Item> items, std::string_view action,
                const Prepare& prepare) {
    if (transfers.empty()) return;
    const auto failed = [&](size_t file, int error) {
      items[file].status = error == 0
                               ? fail(ErrorCode::kCorrupt, "the file ended too early", items[file].path)
                               : fail_errno(error, action, items[file].path);
    };
    std::unique_ptr<Ring> ring = take_ring();
    if (ring == nullptr) {
      for (const Transfer& t : transfers) failed(t.file, ENOMEM);
      return;
    }
    move_all(*ring, transfers, prepare, failed);
    const MutexLock lock(mutex_);
    rings_.push_back(std::move(ring));
  }

  std::unique_ptr<Ring> take_ring() {
    {
      const MutexLock lock(mutex_);
      if (!rings_.empty()) {
        auto ring = std::move(rings_.back());
        rings_.pop_back();
        return ring;
      }
    }
    return Ring::make();
  }

  Mutex mutex_;
  std::vector<std::unique_ptr<Ring>> rings_ KVERN_GUARDED_BY(mutex_);  // those that nobody uses now
};

}  // namespace

std::unique_ptr<BlockIo> make_block_io(Files& files) {
  if (!files.is_system()) return make_files_io(files);
  auto ring = Ring::make();
  if (ring == nullptr) return make_files_io(files);
  return std::make_unique<UringIo>(std::move(ring));
}

}  // namespace kvern::store
