#include "state/account/memory.h"

#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include <sys/mman.h>

namespace kvern::state {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

// Attention reads all of a row once a step, far more than the TLB covers with small pages: huge ones read up
// to a quarter faster.
std::align_val_t alignment_of(size_t bytes) { return std::align_val_t{bytes >= kHugePage ? kHugePage : 64}; }

void prefer_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#if defined(MADV_HUGEPAGE)
  if (bytes >= kHugePage) ::madvise(data, bytes, MADV_HUGEPAGE);  // a hint: failure changes nothing
#endif
}

}  // namespace

Error MemoryAccount::exhausted(size_t bytes) const {
  const size_t left = budget_bytes_ - std::min(budget_bytes_, live_bytes_);
  return {.code = ErrorCode::kExhausted,
          .message = "the KV cache needs " + std::to_string(bytes) + " more bytes, but only " +
                     std::to_string(left) + " of its budget of " + std::to_string(budget_bytes_) +
                     " are free",
          .where = {},
          .retryable = true};
}

size_t MemoryAccount::available(size_t wanted) {
  if (budget_bytes_ == 0) return std::numeric_limits<size_t>::max();
  const auto left = [this] { return budget_bytes_ - std::min(budget_bytes_, live_bytes_); };
  for (size_t i = 0; i < savers_.size() && left() < wanted; ++i) savers_[i]->give_back();
  return left();
}

Result<MemoryAccount::Block> MemoryAccount::allocate(size_t bytes) {
  if (available(bytes) < bytes) return std::unexpected(exhausted(bytes));
  const bool allowed = allowed_ > 0;
  void* data = allowed ? ::operator new(bytes, alignment_of(bytes), std::nothrow) : nullptr;
  if (data == nullptr) {
    Error error{.code = ErrorCode::kExhausted,
                .message = "the system has no " + std::to_string(bytes) + " more bytes for the KV cache",
                .where = {},
                .retryable = true};
    return std::unexpected(std::move(error));
  }
  if (allowed_ != std::numeric_limits<size_t>::max()) --allowed_;
  prefer_huge_pages(data, bytes);
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
  ::operator delete(data_, alignment_of(size_));
}

}  // namespace kvern::state
