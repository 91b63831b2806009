#include "state/api/c_error.h"

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kvern::c_api {
namespace {

TEST(CError, GivesEveryCodeAndItsName) {
  for (const ErrorCode code :
       {ErrorCode::kInvalidArgument, ErrorCode::kNotFound, ErrorCode::kCorrupt, ErrorCode::kUnsupported,
        ErrorCode::kExhausted, ErrorCode::kIo, ErrorCode::kCancelled, ErrorCode::kInternal}) {
    kvern_error error{};
    EXPECT_EQ(kvern_code_name(report({.code = code, .message = "m"}, &error)), to_string(code));
    EXPECT_NE(error.code, KVERN_OK);
  }
  EXPECT_EQ(kvern_code_name(100), nullptr);
  EXPECT_STREQ(kvern_code_name(KVERN_OK), "ok");
}

TEST(CError, CutsLongMessagesBehindAWholeCharacter) {
  kvern_error error{};
  std::memset(&error, 'x', sizeof error);
  // 509 bytes, then characters of three bytes: 511 are left, so none of them fits whole.
  report({.code = ErrorCode::kIo, .message = std::string(509, 'a') + "\u20ac\u20ac", .retryable = true},
         &error);
  EXPECT_EQ(std::string(error.message), std::string(509, 'a'));
  EXPECT_TRUE(error.retryable);
  report({.code = ErrorCode::kIo, .message = std::string(508, 'a') + "\u20ac\u20ac", .where = ""}, &error);
  EXPECT_EQ(std::string(error.message), std::string(508, 'a') + "\u20ac");
  report({.code = ErrorCode::kIo, .message = "what", .where = "where"}, &error);
  EXPECT_STREQ(error.message, "where: what");
  EXPECT_FALSE(error.retryable);
}

TEST(CError, LetsNoExceptionOut) {
  kvern_error error{};
  EXPECT_EQ(guarded(&error, []() -> Status { throw std::bad_alloc(); }), KVERN_EXHAUSTED);
  EXPECT_TRUE(error.retryable);
  EXPECT_EQ(guarded(&error, []() -> Status { throw std::length_error("too long"); }), KVERN_INTERNAL);
  EXPECT_STREQ(error.message, "too long");
  EXPECT_EQ(guarded(nullptr, []() -> Status { throw std::bad_alloc(); }), KVERN_EXHAUSTED);
  EXPECT_EQ(guarded(nullptr, []() -> Status { return Ok{}; }), KVERN_OK);
}

TEST(CError, CopiesForKvernFree) {
  EXPECT_EQ(copied<int>(std::vector<int>{}), nullptr);
  char* text = copied<char>(std::string("ab"), 1);
  EXPECT_STREQ(text, "ab");
  kvern_free(text);
}

}  // namespace
}  // namespace kvern::c_api
