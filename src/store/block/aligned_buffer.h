// Memory whose address and size suit direct I/O.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace kvern::store {

/// Direct I/O moves whole pieces of this size between addresses that are multiples of it.
inline constexpr size_t kIoAlignment = 4096;

constexpr size_t io_round_up(size_t bytes) {
  return (bytes + kIoAlignment - 1) / kIoAlignment * kIoAlignment;
}

/// Owns `size` bytes at an address that is a multiple of kIoAlignment; the memory behind them up to the next
/// multiple is there, too. Contents are undefined at first.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t size) : size_(size) {
    if (size == 0) return;
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(kIoAlignment, io_round_up(size))));
    if (data_ == nullptr) throw std::bad_alloc();
  }

  std::span<std::byte> bytes() { return {data_.get(), size_}; }
  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
};

}  // namespace kvern::store
