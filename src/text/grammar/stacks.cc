#include "text/grammar/stacks.h"

#include <algorithm>

namespace kvern::text::grammar {
namespace {
constexpr size_t kFirstSlots = 64;
}  // namespace

Stacks::Stacks() : entries_(1), slots_(kFirstSlots, 0) {}

size_t Stacks::slot_of(StateId state, StackId below) const {
  const uint64_t key = uint64_t{state} << 32 | static_cast<uint32_t>(below);
  size_t slot = (key * 0x9E3779B97F4A7C15U) >> 32 & (slots_.size() - 1);
  while (slots_[slot] != 0) {
    const Entry& entry = entries_[slots_[slot]];
    if (entry.state == state && entry.below == below) break;
    slot = (slot + 1) & (slots_.size() - 1);
  }
  return slot;
}

StackId Stacks::push(StateId state, StackId below, bool ends) {
  size_t slot = slot_of(state, below);
  if (slots_[slot] != 0) return StackId{slots_[slot]};
  if (entries_.size() * 2 > slots_.size()) {
    grow();
    slot = slot_of(state, below);
  }
  slots_[slot] = static_cast<uint32_t>(entries_.size());
  entries_.push_back({.state = state, .below = below, .may_end = ends && at(below).may_end});
  return StackId{slots_[slot]};
}

void Stacks::grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (uint32_t i = 1; i < entries_.size(); ++i) slots_[slot_of(entries_[i].state, entries_[i].below)] = i;
}

void Stacks::clear() {
  entries_.resize(1);
  if (slots_.size() > kFirstSlots)
    slots_.assign(kFirstSlots, 0);
  else
    std::ranges::fill(slots_, 0);
}

size_t Stacks::memory_bytes() const {
  return entries_.capacity() * sizeof(Entry) + slots_.capacity() * sizeof(uint32_t);
}

}  // namespace kvern::text::grammar
