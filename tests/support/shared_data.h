// Where tests find data: what the repository holds, and the reference data beside a checkout, which may be
// absent.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace kvern::test {

/// A file below tests/data.
inline std::string test_data(std::string_view name) {
  return (std::filesystem::path(KVERN_TEST_DATA_DIR) / name).string();
}

/// A file below the repository's root.
inline std::string source_file(std::string_view name) {
  return (std::filesystem::path(KVERN_SOURCE_DIR) / name).string();
}

/// A file of the shared reference data.
inline std::string shared_data(std::string_view name) {
  return (std::filesystem::path(KVERN_SHARED_DATA_DIR) / name).string();
}

}  // namespace kvern::test

/// Skips the test, and says so, where a file of the shared reference data is absent. Use it in tests with the
/// label `shared`.
#define KVERN_REQUIRE_SHARED(name)                                \
  if (!std::filesystem::exists(::kvern::test::shared_data(name))) \
  GTEST_SKIP() << "no shared reference data at " << ::kvern::test::shared_data(name)
