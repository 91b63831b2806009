#include "store/disk/entry_names.h"

#include <algorithm>
#include <string>
#include <vector>

namespace kvern::store {
namespace {

constexpr size_t kFewestDigits = 8;
constexpr size_t kShown = 80;

}  // namespace

Result<ListedEntry> entry_named(std::span<const ListedEntry> entries, std::string_view beginning) {
  const bool digits = !beginning.empty() && beginning.size() <= 2 * sizeof(Sha256Digest) &&
                      beginning.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!digits) {
    return fail(ErrorCode::kInvalidArgument,
                "is not the name of a saved prefix, nor the beginning of one: these are up to 64 "
                "hexadecimal digits",
                std::string(beginning.substr(0, kShown)));
  }
  const ListedEntry* found = nullptr;
  int64_t count = 0;
  for (const ListedEntry& entry : entries) {
    if (!entry.manifest.to_string().starts_with(beginning)) continue;
    found = &entry;
    ++count;
  }
  if (count == 1) return *found;
  if (count == 0) return fail(ErrorCode::kNotFound, "no such saved prefix", std::string(beginning));
  return fail(ErrorCode::kInvalidArgument,
              std::to_string(count) + " saved prefixes have a name that begins so; write more of it",
              std::string(beginning));
}

size_t distinct_digits(std::span<const ListedEntry> entries) {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const ListedEntry& entry : entries) names.push_back(entry.manifest.to_string());
  std::ranges::sort(names);
  size_t digits = kFewestDigits;
  for (size_t i = 1; i < names.size(); ++i) {
    const auto differ = std::ranges::mismatch(names[i - 1], names[i]).in1;
    digits = std::max(digits, static_cast<size_t>(differ - names[i - 1].begin()) + 1);
  }
  return std::min(digits, 2 * sizeof(Sha256Digest));
}

}  // namespace kvern::store
