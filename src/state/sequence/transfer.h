// Copies the records of one row between a layout and an image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "state/layout/layout.h"

namespace kvern::state {

/// Positions that `held` names.
int64_t held_positions(const StoreSpec& spec, const Held& held);
/// Bytes of the records of so many positions.
size_t record_bytes(const StoreSpec& spec, int64_t positions);

/// The records of all held positions: for each layer, side, head and plane in position order.
std::vector<std::byte> read_records(const Layout& layout, const StoreSpec& spec, RowSlot slot);
/// The reverse, into a row that holds the same positions; `records` has record_bytes(held_positions(…)).
void write_records(const Layout& layout, const StoreSpec& spec, RowSlot slot,
                   const std::vector<std::byte>& records);

}  // namespace kvern::state
