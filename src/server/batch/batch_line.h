// A line of a batch file, as OpenAI's batch API describes it:
// {"custom_id": "...", "method": "POST", "url": "/v1/chat/completions", "body": {...}}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "server/http/exchange.h"

namespace kvern::server {

struct BatchLine {
  std::string custom_id;  ///< names the result; not empty
  std::string method;     ///< "POST"
  std::string url;        ///< "/v1/chat/completions", with or without a host
  json::object body;
};

/// Errors (kInvalidArgument) say which member is wrong and how, or where the JSON ends.
Result<BatchLine> read_batch_line(std::string_view text);

/// The line of a request that was answered, whatever the status: {"id", "custom_id", "response":
/// {"status_code", "request_id", "body"}, "error": null}. A body that is no JSON becomes an error.
json::object answered_result(std::string_view custom_id, const std::string& request_id,
                             const HttpResponse& response);
/// The line of a request that could not be asked: "response" is null, "error" is {"code", "message"}.
json::object failed_result(std::string_view custom_id, const std::string& request_id, std::string_view code,
                           std::string_view message);

}  // namespace kvern::server
