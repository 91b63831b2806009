// Memory whose address and size suit direct I/O.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include <sys/mman.h>

#include "base/mutex.h"

namespace kvern::store {

/// Direct I/O moves whole pieces of this size between addresses that are multiples of it.
inline constexpr size_t kIoAlignment = 4096;

inline constexpr size_t kHugePage = size_t{2} << 20;

constexpr size_t io_round_up(size_t bytes) {
  return (bytes + kIoAlignment - 1) / kIoAlignment * kIoAlignment;
}

class BufferPool;

/// Owns `size` bytes at an address that is a multiple of kIoAlignment; the memory behind them up to the next
/// multiple is there, too. Contents are undefined at first.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t size) : size_(size) {
    if (size == 0) return;
    const size_t bytes = io_round_up(size);
    // Huge pages are touched 512 times less often, which is what fresh buffers cost most.
    const size_t alignment = bytes >= kHugePage ? kHugePage : kIoAlignment;
    data_.reset(static_cast<std::byte*>(
        std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)));
    if (data_ == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
    if (bytes >= kHugePage) ::madvise(data_.get(), bytes, MADV_HUGEPAGE);  // a hint: failure changes nothing
#endif
  }

  std::span<std::byte> bytes() { return {data_.get(), size_}; }
  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
  size_t size() const { return size_; }

 private:
  friend class BufferPool;
  /// Gives memory back to the pool that it came from, or to the system.
  struct Free {
    std::shared_ptr<BufferPool> pool;  // null: none
    size_t bytes;
    Free() : bytes(0) {}
    Free(std::shared_ptr<BufferPool> from, size_t size) : pool(std::move(from)), bytes(size) {}
    inline void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
};

/// Keeps the memory of buffers for the next of their size: the system would have to clear it for each.
/// Thread-safe; owned by shared_ptr, since its buffers keep it.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  explicit BufferPool(size_t most_bytes) : most_bytes_(most_bytes) {}
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool() {
    for (const auto& [bytes, data] : kept_) std::free(data);
  }

  AlignedBuffer take(size_t size) {
    AlignedBuffer buffer;
    const size_t bytes = io_round_up(size);
    {
      const MutexLock lock(mutex_);
      const auto known = kept_.find(bytes);
      if (known != kept_.end()) {
        buffer.data_ = {known->second, AlignedBuffer::Free(shared_from_this(), bytes)};
        kept_.erase(known);
        kept_bytes_ -= bytes;
      }
    }
    if (buffer.data_ == nullptr) {
      buffer = AlignedBuffer(size);
      buffer.data_.get_deleter() = AlignedBuffer::Free(shared_from_this(), bytes);
    }
    buffer.size_ = size;
    return buffer;
  }

 private:
  friend class AlignedBuffer;
  void give_back(std::byte* data, size_t bytes) {
    {
      const MutexLock lock(mutex_);
      if (kept_bytes_ + bytes <= most_bytes_) {
        kept_.emplace(bytes, data);
        kept_bytes_ += bytes;
        return;
      }
    }
    std::free(data);
  }

  size_t most_bytes_;
  Mutex mutex_;
  std::multimap<size_t, std::byte*> kept_ KVERN_GUARDED_BY(mutex_);
  size_t kept_bytes_ KVERN_GUARDED_BY(mutex_) = 0;
};

inline void AlignedBuffer::Free::operator()(std::byte* data) const {
  if (pool != nullptr) {
    pool->give_back(data, bytes);
  } else {
    std::free(data);
  }
}

}  // namespace kvern::store
