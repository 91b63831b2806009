// Names of entries as people write them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/result.h"
#include "store/index/index_report.h"

namespace kvern::store {

/// The entry whose name begins with these hexadecimal digits. kNotFound when there is none, kInvalidArgument
/// when there are several, or it is no beginning of a name.
Result<ListedEntry> entry_named(std::span<const ListedEntry> entries, std::string_view beginning);

/// How many digits tell all these names apart; at least 8.
size_t distinct_digits(std::span<const ListedEntry> entries);

}  // namespace kvern::store
