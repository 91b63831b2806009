// Memory of one cache: every byte of storage is taken from here, counted, and held to a budget.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "base/result.h"

namespace kvern::state {

/// Counts and limits storage. One thread. Outlives the blocks that it gave.
class MemoryAccount {
 public:
  /// `budget_bytes` = 0 means no limit but the machine's.
  explicit MemoryAccount(size_t budget_bytes) : budget_bytes_(budget_bytes) {}
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  class Block;
  /// Somebody who holds blocks for later, and gives them back when the budget is short.
  class Saver {
   public:
    virtual void give_back() = 0;

   protected:
    ~Saver() = default;
  };

  /// `bytes` > 0 bytes, at least 64-byte aligned, contents undefined; kExhausted (retryable) beyond the
  /// budget or when the system has no more.
  Result<Block> allocate(size_t bytes);
  /// What allocate() answers when the budget does not have `bytes` more.
  Error exhausted(size_t bytes) const;

  /// Asked to give back before an allocation fails. Borrowed until removed.
  void add_saver(Saver& saver) { savers_.push_back(&saver); }
  void remove_saver(Saver& saver) { std::erase(savers_, &saver); }

  size_t budget_bytes() const { return budget_bytes_; }
  /// What the budget has left, after the savers gave back if that is less than `wanted`.
  size_t available(size_t wanted = 0);
  size_t live_bytes() const { return live_bytes_; }
  size_t peak_bytes() const { return peak_bytes_; }

  /// For tests of failure: after so many further allocations none succeeds until the next call.
  void fail_after(size_t allocations = std::numeric_limits<size_t>::max()) { allowed_ = allocations; }

 private:
  size_t budget_bytes_;
  size_t live_bytes_ = 0;
  size_t peak_bytes_ = 0;
  size_t allowed_ = std::numeric_limits<size_t>::max();
  std::vector<Saver*> savers_;
};

/// An owned piece of memory; gives itself back to the account.
class MemoryAccount::Block {
 public:
  Block() = default;
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;
  ~Block() { release(); }

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  friend class MemoryAccount;
  Block(MemoryAccount* account, std::byte* data, size_t size) : account_(account), data_(data), size_(size) {}
  void release();
  MemoryAccount* account_ = nullptr;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace kvern::state
