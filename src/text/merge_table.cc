#include "text/merge_table.h"

#include <bit>

namespace kvern::text {

void MergeTable::reserve(size_t merges) {
  if (const size_t slots = std::bit_ceil(merges * 2 + 16); slots > slots_.size()) grow(slots);
}

void MergeTable::set(int32_t left, int32_t right, Merge merge) {
  if ((count_ + 1) * 2 > slots_.size()) grow(std::bit_ceil(slots_.size() * 2 + 16));
  const uint64_t key = key_of(left, right);
  Slot& slot = slot_for(key);
  if (slot.key == kFree) ++count_;
  slot = {.key = key, .merge = merge};
}

MergeTable::Slot& MergeTable::slot_for(uint64_t key) {
  size_t slot = slot_of(key);
  while (slots_[slot].key != key && slots_[slot].key != kFree) slot = (slot + 1) & (slots_.size() - 1);
  return slots_[slot];
}

void MergeTable::grow(size_t slots) {
  const std::vector<Slot> old = std::move(slots_);
  slots_.assign(slots, Slot{});
  for (const Slot& slot : old)
    if (slot.key != kFree) slot_for(slot.key) = slot;
}

}  // namespace kvern::text
