// What the transport asks of the program that it serves.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "server/http/answer.h"
#include "server/http/exchange.h"
#include "server/http/http_error.h"

namespace kvern::server {

/// What is to become of a request whose head is there.
struct HttpDecision {
  /// Runs on a worker when the body is there, unless there is an answer already.
  Handler handler;
  /// Sent at once, without a handler: a refusal, usually. A body is not waited for.
  std::optional<HttpResponse> answer;
  size_t max_body_bytes = 0;  ///< 0 = the transport's limit
  HttpHeaders headers;        ///< added to the answer, whatever it is
  std::string route;          ///< its name in logs and metrics; empty when there is none
  /// How the route's API says errors of the transport.
  ErrorAnswer error_answer = error_response;
};

/// One answered (or dropped) request.
struct HttpRecord {
  std::string id;
  std::string client;
  std::string method;
  std::string route;  ///< the pattern, so that its number is bounded; empty when none fitted
  std::string peer;   ///< address of the other side
  AnswerReport answer;
  std::chrono::microseconds duration{0};  ///< from the first byte of the request to the last of the answer
  std::shared_ptr<const RequestUsage> usage;  ///< null when the head was not read
};

/// Thread-safe; outlives the server. Called on the network's threads: must return at once.
class HttpApplication {
 public:
  virtual ~HttpApplication() = default;
  /// `request` has no body yet. May set `path_values` and `client`. `segments`: as Router::find takes them.
  virtual HttpDecision decide(HttpRequest& request, const std::vector<std::string>& segments) = 0;
  virtual void finished(const HttpRecord& record) = 0;
};

}  // namespace kvern::server
