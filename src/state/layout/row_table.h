// The rows of a layout by slot; slots are reused, the last released first.
#pragma once

#include <cstddef>
#include <vector>

#include "state/layout/layout.h"

namespace kvern::state {

/// `Row` has a member `held`.
template <typename Row>
class RowTable {
 public:
  RowSlot add(const Held& held) {
    if (free_.empty()) {
      rows_.emplace_back();
      free_.reserve(rows_.capacity());  // so that remove needs no memory
      free_.push_back(static_cast<RowSlot>(rows_.size() - 1));
    }
    const RowSlot slot = free_.back();
    free_.pop_back();
    (*this)[slot].held = held;
    return slot;
  }
  void remove(RowSlot slot) {
    (*this)[slot] = Row{};
    free_.push_back(slot);
  }

  Row& operator[](RowSlot slot) { return rows_[static_cast<size_t>(slot)]; }
  const Row& operator[](RowSlot slot) const { return rows_[static_cast<size_t>(slot)]; }

 private:
  std::vector<Row> rows_;
  std::vector<RowSlot> free_;
};

}  // namespace kvern::state
