#include "server/http/http_error.h"

#include <gtest/gtest.h>

namespace kvern::server {
namespace {

TEST(HttpError, HasTheFourMembersThatClientsRead) {
  const HttpResponse response = error_response(
      {.status = 400, .message = "too \"long\"", .param = "messages", .code = "context_length_exceeded"});
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(response.body,
            R"({"error":{"message":"too \"long\"","type":"invalid_request_error","param":"messages",)"
            R"("code":"context_length_exceeded"}})");
}

TEST(HttpError, WhatIsNotKnownIsNull) {
  EXPECT_EQ(error_response({.status = 500, .message = "m"}).body,
            R"({"error":{"message":"m","type":"server_error","param":null,"code":null}})");
  // That it is beyond what is spoken here is the client's affair.
  EXPECT_NE(error_response({.status = 505, .message = "m"}).body.find("invalid_request_error"),
            std::string::npos);
}

TEST(HttpError, TellsWhenToTryAgainWhereThatHelps) {
  EXPECT_EQ(error_response({.status = 503, .message = "m"}).headers, (HttpHeaders{{"Retry-After", "1"}}));
  EXPECT_EQ(error_response({.status = 429, .message = "m"}).headers, (HttpHeaders{{"Retry-After", "1"}}));
  EXPECT_TRUE(error_response({.status = 500, .message = "m"}).headers.empty());
}

TEST(HttpError, TheCallersFaultIs400AndOursIs500) {
  const auto status = [](ErrorCode code, bool retryable = false) {
    return to_api_error({.code = code, .message = "m", .where = "w", .retryable = retryable}).status;
  };
  EXPECT_EQ(status(ErrorCode::kInvalidArgument), 400);
  EXPECT_EQ(status(ErrorCode::kUnsupported), 400);
  EXPECT_EQ(status(ErrorCode::kNotFound), 404);
  EXPECT_EQ(status(ErrorCode::kExhausted), 400);
  EXPECT_EQ(status(ErrorCode::kExhausted, true), 503);
  EXPECT_EQ(status(ErrorCode::kCancelled), 503);
  EXPECT_EQ(status(ErrorCode::kIo), 500);
  EXPECT_EQ(status(ErrorCode::kInternal), 500);
}

TEST(HttpError, NamesTheFieldButNoPlaceOfOurs) {
  EXPECT_EQ(to_api_error({.code = ErrorCode::kInvalidArgument, .message = "m", .where = "top_p"}).param,
            "top_p");
  EXPECT_FALSE(to_api_error({.code = ErrorCode::kIo, .message = "m", .where = "/etc/secret"}).param);
}

}  // namespace
}  // namespace kvern::server
