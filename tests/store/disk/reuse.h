// What tests ask of a store, with every byte looked at.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/entries.h"
#include "support/result_matchers.h"

namespace kvern::store::test {

inline std::vector<int32_t> with(std::vector<int32_t> tokens, int32_t last) {
  tokens.push_back(last);
  return tokens;
}

// How many tokens of a prompt a store gives; looks at every byte.
inline int64_t reuse(DiskStore& store, const PrefixSpace& space, const std::vector<int32_t>& prompt) {
  const auto hit = store.find(space, prompt);
  EXPECT_OK(hit);
  if (!hit || !*hit) return 0;
  const int64_t got = restored_tokens(store, space, prompt, **hit);
  EXPECT_GE(got, 0) << "bytes of something else";
  return got;
}

inline std::vector<ListedEntry> listed(DiskStore& store) {
  return store.list().value_or(std::vector<ListedEntry>());
}

inline void flip(Files& files, const std::string& path, uint64_t at) {
  auto file = *files.open(path, OpenMode::kUpdate);
  std::byte byte{};
  ASSERT_OK(file->read_at(at, {&byte, 1}));
  byte ^= std::byte{4};
  ASSERT_OK(file->write_at(at, {&byte, 1}));
}

}  // namespace kvern::store::test
