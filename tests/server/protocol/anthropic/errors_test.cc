#include "server/protocol/anthropic/errors.h"

#include <gtest/gtest.h>

namespace kvern::server::anthropic {
namespace {

TEST(AnthropicErrors, have_the_type_of_their_status) {
  const std::pair<int, std::string> types[] = {{400, "invalid_request_error"}, {401, "authentication_error"},
                                               {403, "permission_error"},      {404, "not_found_error"},
                                               {405, "invalid_request_error"}, {413, "request_too_large"},
                                               {429, "rate_limit_error"},      {500, "api_error"},
                                               {504, "timeout_error"}};
  for (const auto& [status, type] : types) {
    const HttpResponse response = error_response({.status = status, .message = "m"}, "req-1");
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(response.body,
              R"({"type":"error","error":{"type":")" + type + R"(","message":"m"},"request_id":"req-1"})");
  }
}

TEST(AnthropicErrors, of_a_server_that_is_full_have_a_status_of_their_own) {
  const HttpResponse response = error_response({.status = 503, .message = "m"}, "");
  EXPECT_EQ(response.status, 529);
  EXPECT_EQ(response.body, R"({"type":"error","error":{"type":"overloaded_error","message":"m"}})");
  EXPECT_EQ(response.headers.front().first, "Retry-After");
}

}  // namespace
}  // namespace kvern::server::anthropic
