// Assertions about Result and Status.
//
//   ASSERT_OK_AND_ASSIGN(auto file, files->open(path, OpenMode::kRead));
//   EXPECT_OK(file->sync());
//   EXPECT_ERROR(files->open("nowhere", OpenMode::kRead), kNotFound, "No such file");
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "base/result.h"

namespace kvern {

/// So that GoogleTest prints a name and not a number.
inline void PrintTo(ErrorCode code, std::ostream* out) { *out << to_string(code); }

namespace test {

template <typename T>
testing::AssertionResult is_ok(const Result<T>& result) {
  if (result) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "failed (" << to_string(result.error().code)
                                     << "): " << result.error().to_string();
}

/// Fails unless `result` is an error of this code whose "where: message" contains `part`.
template <typename T>
testing::AssertionResult is_error(const Result<T>& result, ErrorCode code, std::string_view part) {
  if (result) return testing::AssertionFailure() << "succeeded; expected: " << to_string(code);
  const Error& error = result.error();
  if (error.code != code || error.to_string().find(part) == std::string::npos)
    return testing::AssertionFailure() << "got (" << to_string(error.code) << "): " << error.to_string()
                                       << "\nexpected (" << to_string(code) << ") with: " << part;
  return testing::AssertionSuccess();
}

}  // namespace test
}  // namespace kvern

#define ASSERT_OK(expression) ASSERT_TRUE(::kvern::test::is_ok(expression))
#define EXPECT_OK(expression) EXPECT_TRUE(::kvern::test::is_ok(expression))

/// `code` is an enumerator of ErrorCode without its scope: EXPECT_ERROR(parse(text), kCorrupt, "line 3").
#define EXPECT_ERROR(expression, code, part) \
  EXPECT_TRUE(::kvern::test::is_error(expression, ::kvern::ErrorCode::code, part))

/// Declares or assigns the value; ends the test if there is none.
#define ASSERT_OK_AND_ASSIGN(declaration, expression) \
  ASSERT_OK_AND_ASSIGN_INNER(KVERN_CONCAT(kvern_test_result_, __LINE__), declaration, expression)
#define ASSERT_OK_AND_ASSIGN_INNER(result, declaration, expression) \
  auto result = (expression);                                       \
  ASSERT_TRUE(::kvern::test::is_ok(result));                        \
  declaration = *std::move(result)
