#include "state/account/memory.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace kvern::state {
namespace {
constexpr std::align_val_t kAlignment{64};
}

Result<MemoryAccount::Block> MemoryAccount::allocate(size_t bytes) {
  const size_t left = budget_bytes_ == 0 ? bytes : budget_bytes_ - std::min(budget_bytes_, live_bytes_);
  if (bytes > left) {
    Error error{.code = ErrorCode::kExhausted,
                .message = "the KV cache needs " + std::to_string(bytes) + " more bytes, but only " +
                           std::to_string(left) + " of its budget of " + std::to_string(budget_bytes_) +
                           " are free",
                .where = {},
                .retryable = true};
    return std::unexpected(std::move(error));
  }
  void* data = ::operator new(bytes, kAlignment, std::nothrow);
  if (data == nullptr) {
    Error error{.code = ErrorCode::kExhausted,
                .message = "the system has no " + std::to_string(bytes) + " more bytes for the KV cache",
                .where = {},
                .retryable = true};
    return std::unexpected(std::move(error));
  }
  live_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
  return Block(this, static_cast<std::byte*>(data), bytes);
}

MemoryAccount::Block::Block(Block&& other) noexcept
    : account_(other.account_),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MemoryAccount::Block& MemoryAccount::Block::operator=(Block&& other) noexcept {
  std::swap(account_, other.account_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void MemoryAccount::Block::release() {
  if (data_ == nullptr) return;
  account_->live_bytes_ -= size_;
  ::operator delete(data_, kAlignment);
}

}  // namespace kvern::state
