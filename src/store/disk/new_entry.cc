#include "store/disk/new_entry.h"

namespace kvern::store {

size_t NewEntry::bytes() const {
  size_t sum = 0;
  for (size_t s = 0; s < stores.size(); ++s) {
    if (s < uncut_bytes.size()) sum += uncut_bytes[s];
    for (const state::PositionRange& range : state::held_ranges(stores[s].store, stores[s].held))
      sum += static_cast<size_t>(range.size()) * stores[s].store.bytes_per_position;
  }
  for (const Attachment& attachment : attachments) sum += attachment.data.size();
  return sum;
}

size_t NewEntry::file_bytes(int64_t page) const {
  size_t sum = bytes() + io_round_up(tokens.size() * sizeof(int32_t) + space->identity.cache.size());
  for (const ManifestStore& s : stores) {
    if (s.kind == StateKind::kRecurrent) continue;
    const size_t whole = static_cast<size_t>(page) * s.store.bytes_per_position;
    const size_t overhead = block_file_bytes({.geometry = s.store.text}, whole) - whole;
    sum += overhead * state::held_pieces(s.store, s.held, page).size();
  }
  return sum;
}

}  // namespace kvern::store
