// What the bytes of a row mean, as text.
#pragma once

#include <string>

#include "state/sequence/group.h"

namespace kvern::state {

/// Sizes, windows, types and precision rule of one layer of a group, counted inside the group.
std::string layer_identity(const KvGroup& group, size_t local);
/// RowStore::text: which layers of the model a store has, and their sizes and types in this form.
std::string store_text(const KvGroup& group, KvForm form);

}  // namespace kvern::state
