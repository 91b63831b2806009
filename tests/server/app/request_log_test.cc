#include "server/app/request_log.h"

#include <memory>

#include <gtest/gtest.h>

namespace kvern::server {
namespace {

HttpRecord record() {
  return {.id = "req-1",
          .client = "alice",
          .method = "POST",
          .route = "/v1/chat/completions",
          .peer = "127.0.0.1",
          .answer = {.status = 200, .whole = true, .bytes = 456},
          .duration = std::chrono::microseconds(12'345),
          .usage = nullptr};
}

TEST(RequestLog, IsOneLine) {
  EXPECT_EQ(request_log_text(record()),
            "request id=req-1 client=alice peer=127.0.0.1 method=POST route=/v1/chat/completions status=200 "
            "ms=12.3 "
            "bytes=456");
}

TEST(RequestLog, HasTokensWhereThereAreAny) {
  HttpRecord with_tokens = record();
  auto usage = std::make_shared<RequestUsage>();
  with_tokens.usage = usage;
  EXPECT_EQ(request_log_text(with_tokens).find("tokens"), std::string::npos);
  usage->prompt_tokens = 5;
  usage->cached_tokens = 2;
  usage->generated_tokens = 7;
  EXPECT_TRUE(request_log_text(with_tokens).ends_with("prompt_tokens=5 cached_tokens=2 generated_tokens=7"));
  const json::object object = request_log_json(with_tokens);
  EXPECT_EQ(object.at("generated_tokens").as_int64(), 7);
  EXPECT_EQ(object.at("ms").as_double(), 12.3);
  EXPECT_EQ(object.at("status").as_int64(), 200);
}

TEST(RequestLog, WhatAClientSendsCannotForgeFieldsOrLines) {
  HttpRecord forged = record();
  forged.id = "a b\nlevel=error status=500\x1b[31m";
  forged.client.clear();
  forged.answer.whole = false;
  const std::string line = request_log_text(forged);
  EXPECT_TRUE(line.starts_with("request id=a_b_level_error_status_500_[31m client=- ")) << line;
  EXPECT_TRUE(line.ends_with(" whole=false"));
}

}  // namespace
}  // namespace kvern::server
