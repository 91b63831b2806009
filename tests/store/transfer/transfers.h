// Files of exported prefixes in memory.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "store/entries.h"
#include "store/transfer/export_entries.h"
#include "store/transfer/export_format.h"
#include "store/transfer/import_entries.h"

namespace kvern::store::test {

using Bytes = std::vector<std::byte>;

inline ByteSink sink_into(Bytes& out) {
  return [&out](std::span<const std::byte> bytes) -> Status {
    out.insert(out.end(), bytes.begin(), bytes.end());
    return Ok{};
  };
}

/// `bytes` outlive it.
inline ByteSource source_of(const Bytes& bytes) {
  return [&bytes, at = size_t{0}](std::span<std::byte> out) mutable -> Status {
    if (out.size() > bytes.size() - at) return fail(ErrorCode::kCorrupt, "cut off");
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), out.size(), out.begin());
    at += out.size();
    return Ok{};
  };
}

inline std::vector<ContentName> names_of(DiskStore& store) {
  std::vector<ContentName> names;
  for (const ListedEntry& entry : store.list().value_or(std::vector<ListedEntry>()))
    names.push_back(entry.manifest);
  return names;
}

inline Bytes exported(DiskStore& store) {
  Bytes bytes;
  const auto names = names_of(store);
  static_cast<void>(export_entries(store, names, sink_into(bytes)));
  return bytes;
}

/// Three entries, two of which share a page; pages of 64.
struct SampleEntries {
  std::shared_ptr<const PrefixSpace> space = std::make_shared<const PrefixSpace>(sample_space());
  std::vector<int32_t> first = tokens_of(130, 1);
  std::vector<int32_t> second;
  std::vector<int32_t> third = tokens_of(70, 3);

  SampleEntries() {
    second.assign(first.begin(), first.begin() + 64);
    for (const int32_t token : tokens_of(40, 2)) second.push_back(token);
  }
  std::vector<std::vector<int32_t>> all() const { return {first, second, third}; }

  Status put(DiskStore& store) const {
    KVERN_TRY_STATUS(store.put(make_entry(space, first)));
    KVERN_TRY_STATUS(store.put(make_entry(space, second, {.window = 20})));
    KVERN_TRY_STATUS(store.put(make_entry(space, third, {.recurrent = true})));
    return Ok{};
  }
  /// How many of a prefix's tokens a store gives; -1: something wrong.
  int64_t found(DiskStore& store, const std::vector<int32_t>& tokens) const {
    auto prompt = tokens;
    prompt.push_back(49999);
    const auto hit = store.find(*space, prompt);
    if (!hit || !*hit) return 0;
    return restored_tokens(store, *space, prompt, **hit);
  }
};

}  // namespace kvern::store::test
