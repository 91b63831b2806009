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

}  // namespace kvern::store
