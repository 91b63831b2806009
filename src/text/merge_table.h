// Which two neighbouring symbols become which one, and in what order: the merges of byte-pair encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvern::text {

/// Open-addressing table from pairs of symbols. Filled by one thread, then immutable and thread-safe.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank = 0;  ///< Lower goes first.
    int32_t result = -1;
  };

  void reserve(size_t merges);
  /// A pair that is there already gets the new rank and result. Symbols are not negative.
  void set(int32_t left, int32_t right, Merge merge);

  /// Null when the two do not merge.
  const Merge* find(int32_t left, int32_t right) const {
    if (slots_.empty()) return nullptr;
    const uint64_t key = key_of(left, right);
    for (size_t slot = slot_of(key);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].key == key) return &slots_[slot].merge;
      if (slots_[slot].key == kFree) return nullptr;
    }
  }
  size_t size() const { return count_; }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};
  struct Slot {
    uint64_t key = kFree;
    Merge merge;
  };

  static uint64_t key_of(int32_t left, int32_t right) {
    return (uint64_t{static_cast<uint32_t>(left)} << 32) | static_cast<uint32_t>(right);
  }
  size_t slot_of(uint64_t key) const {
    key ^= key >> 31;
    return (key * 0x9E3779B97F4A7C15u >> 24) & (slots_.size() - 1);
  }
  void grow(size_t slots);
  Slot& slot_for(uint64_t key);

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

}  // namespace kvern::text
