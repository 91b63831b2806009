#include "base/result.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return fail(ErrorCode::kInvalidArgument, "odd", "value");
  return value / 2;
}

Result<int> quarter(int value) {
  KVERN_TRY(const int once, half(value));
  KVERN_TRY(const int twice, half(once));
  return twice;
}

Status check(int value) {
  KVERN_TRY_STATUS(half(value));
  return Ok{};
}

TEST(Result, try_gives_the_value_or_returns_the_error) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_ERROR(quarter(6), kInvalidArgument, "value: odd");
  EXPECT_OK(check(2));
  EXPECT_ERROR(check(1), kInvalidArgument, "odd");
}

TEST(Result, try_moves_what_cannot_be_copied) {
  const auto pass = [](Result<std::unique_ptr<int>> in) -> Result<std::unique_ptr<int>> {
    KVERN_TRY(auto value, std::move(in));
    return value;
  };
  EXPECT_EQ(**pass(std::make_unique<int>(3)), 3);
}

TEST(Error, is_one_line_with_its_place) {
  EXPECT_EQ((Error{.message = "no such tensor", .where = "m.gguf"}).to_string(), "m.gguf: no such tensor");
  EXPECT_EQ((Error{.message = "no such tensor"}).to_string(), "no such tensor");
}

TEST(ErrorCode, each_has_a_name) {
  EXPECT_EQ(to_string(ErrorCode::kInvalidArgument), "invalid argument");
  EXPECT_EQ(to_string(ErrorCode::kNotFound), "not found");
  EXPECT_EQ(to_string(ErrorCode::kCorrupt), "corrupt");
  EXPECT_EQ(to_string(ErrorCode::kUnsupported), "unsupported");
  EXPECT_EQ(to_string(ErrorCode::kExhausted), "exhausted");
  EXPECT_EQ(to_string(ErrorCode::kIo), "input/output error");
  EXPECT_EQ(to_string(ErrorCode::kCancelled), "cancelled");
  EXPECT_EQ(to_string(ErrorCode::kInternal), "internal error");
}

}  // namespace
}  // namespace kvern
