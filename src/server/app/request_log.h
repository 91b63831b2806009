// One line for each request, for people and for programs. Never what a user wrote.
#pragma once

#include <string>

#include "base/json.h"
#include "server/http/http_application.h"

namespace kvern::server {

/// Receives every request when it is over. Thread-safe; called on the network's threads.
class RequestLog {
 public:
  virtual ~RequestLog() = default;
  virtual void request(const HttpRecord& record) = 0;
};

/// "request id=req-1 client=alice peer=127.0.0.1 method=POST route=/v1/chat/completions status=200 ms=12.3
/// bytes=456 prompt_tokens=5 cached_tokens=0 generated_tokens=7". Tokens where there are any; "whole=false"
/// where the client went before the end; "-" for what is empty.
std::string request_log_text(const HttpRecord& record);

/// The same as an object, with numbers as numbers.
json::object request_log_json(const HttpRecord& record);

}  // namespace kvern::server
