#include "server/http/response_head.h"

#include <gtest/gtest.h>

namespace kvern::server {
namespace {

const auto kWhen = std::chrono::system_clock::time_point(std::chrono::seconds(784111777));  // RFC 9110, 5.6.7

TEST(ResponseHead, HasTheLinesInOrder) {
  const HttpResponse response{.status = 404, .headers = {{"Retry-After", "1"}}, .body = "x"};
  EXPECT_EQ(response_head(response, {{"x-request-id", "a"}}, {.content_length = 1}, kWhen),
            "HTTP/1.1 404 Not Found\r\n"
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "Content-Type: application/json\r\n"
            "Content-Length: 1\r\n"
            "Retry-After: 1\r\n"
            "x-request-id: a\r\n"
            "Connection: keep-alive\r\n\r\n");
}

TEST(ResponseHead, SaysHowABodyOfUnknownLengthTravels) {
  const HttpResponse response;
  EXPECT_NE(response_head(response, {}, {}, kWhen).find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  const std::string old = response_head(response, {}, {.http_1_0 = true, .keep_alive = false}, kWhen);
  EXPECT_EQ(old.find("Transfer-Encoding"), std::string::npos);
  EXPECT_NE(old.find("Connection: close\r\n"), std::string::npos);
}

TEST(ResponseHead, AnAnswerWithoutABodyHasNoLength) {
  const std::string head = response_head({.status = 204}, {}, {.content_length = 0}, kWhen);
  EXPECT_EQ(head.find("Content-"), std::string::npos);
}

TEST(ResponseHead, NoValueCanEndALine) {
  const HttpResponse response{.headers = {{"X", "a\r\nSet-Cookie: b\x01\tc"}}};
  EXPECT_NE(response_head(response, {}, {.content_length = 0}, kWhen).find("X: a  Set-Cookie: b \tc\r\n"),
            std::string::npos);
}

TEST(ResponseHead, ChunksHaveTheirSizeInHexadecimal) {
  EXPECT_EQ(chunk("0123456789abcdefX"), "11\r\n0123456789abcdefX\r\n");
}

TEST(ResponseHead, EveryStatusHasAPhrase) {
  EXPECT_EQ(reason_phrase(200), "OK");
  EXPECT_EQ(reason_phrase(431), "Request Header Fields Too Large");
  EXPECT_EQ(reason_phrase(299), "Unknown");
}

}  // namespace
}  // namespace kvern::server
