#include "server/protocol/error_style.h"

#include <gtest/gtest.h>

#include "server/protocol/anthropic/errors.h"

namespace kvern::server {
namespace {

TEST(ErrorStyle, is_that_of_the_api_that_is_asked) {
  for (const char* path : {"/v1/messages", "/v1/messages/", "/v1/messages/count_tokens", "/v1/messages/x/y"})
    EXPECT_EQ(error_answer_for({.path = path}), &anthropic::plain_error_response) << path;
  for (const char* path : {"/", "/v1/messagesx", "/v1/chat/completions", "/v2/v1/messages"})
    EXPECT_EQ(error_answer_for({.path = path}), &error_response) << path;
}

TEST(ErrorStyle, is_anthropics_for_its_clients_wherever_they_ask) {
  EXPECT_EQ(error_answer_for({.path = "/v1/nothing", .headers = {{"anthropic-version", "2023-06-01"}}}),
            &anthropic::plain_error_response);
}

}  // namespace
}  // namespace kvern::server
