#include "server/batch/batch_line.h"

#include <utility>

#include "server/protocol/fields.h"

namespace kvern::server {
namespace {

json::object result_of(std::string_view custom_id, const std::string& request_id) {
  return {{"id", "batch_req_" + request_id}, {"custom_id", custom_id}};
}

}  // namespace

Result<BatchLine> read_batch_line(std::string_view text) {
  auto parsed = parse_json(text, "");
  if (!parsed) {
    Error error = std::move(parsed).error();
    error.code = ErrorCode::kInvalidArgument;  // it is what somebody wrote
    return std::unexpected(std::move(error));
  }
  KVERN_TRY(ObjectReader reader, ObjectReader::of(*parsed, ""));
  BatchLine line;
  KVERN_TRY(line.custom_id, reader.required_string("custom_id"));
  if (line.custom_id.empty()) return fail(ErrorCode::kInvalidArgument, "custom_id: is empty", "custom_id");
  KVERN_TRY(line.method, reader.required_string("method"));
  KVERN_TRY(line.url, reader.required_string("url"));
  KVERN_TRY(const json::object* body, reader.object("body"));
  if (body == nullptr) return fail(ErrorCode::kInvalidArgument, "body: is missing", "body");
  KVERN_TRY_STATUS(reader.finish());
  line.body = *body;
  return line;
}

json::object answered_result(std::string_view custom_id, const std::string& request_id,
                             const HttpResponse& response) {
  auto body = parse_json(response.body, "");
  if (!body) {
    return failed_result(custom_id, request_id, "no_answer", "the request ended without an answer");
  }
  json::object result = result_of(custom_id, request_id);
  result["response"] =
      json::object{{"status_code", response.status}, {"request_id", request_id}, {"body", *std::move(body)}};
  result["error"] = nullptr;
  return result;
}

json::object failed_result(std::string_view custom_id, const std::string& request_id, std::string_view code,
                           std::string_view message) {
  json::object result = result_of(custom_id, request_id);
  result["response"] = nullptr;
  result["error"] = json::object{{"code", code}, {"message", message}};
  return result;
}

}  // namespace kvern::server
