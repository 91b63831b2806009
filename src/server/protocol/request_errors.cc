#include "server/protocol/request_errors.h"

#include <string>

#include "engine/load/engine.h"
#include "engine/request/generation_service.h"

namespace kvern::server {
namespace {

ApiError context_exceeded(ApiError api, const FieldNames& names) {
  api.status = 400;
  api.param = std::string(names.prompt);
  api.code = "context_length_exceeded";
  return api;
}

}  // namespace

ApiError health_error(const Error& error) {
  ApiError api{.status = 503, .message = error.message + "; restart the server", .type = "unavailable_error"};
  api.code = error.where == engine::kWeights ? "model_changed" : "engine_failed";
  return api;
}

ApiError request_error(const Error& error, const FieldNames& names) {
  ApiError api = to_api_error(error);
  if (error.code == ErrorCode::kUnsupported) api.code = "unsupported_parameter";
  if (error.code == ErrorCode::kInvalidArgument) api.code = "invalid_value";
  if (error.code == ErrorCode::kNotFound) api.code = "model_not_found";
  // Text that is no JSON has a place, but no field.
  if (error.code == ErrorCode::kCorrupt) {
    api.code = "invalid_json";
    api.param.reset();
  }
  // What is too much of something stays too much.
  if (error.code == ErrorCode::kExhausted) api.status = 400;
  if (error.code == ErrorCode::kExhausted && error.where == "prompt") return context_exceeded(api, names);
  return api;
}

ApiError submit_error(const Error& error, const FieldNames& names) {
  if (error.where == engine::kWeights) return health_error(error);
  ApiError api = request_error(error, names);
  if (error.code == ErrorCode::kExhausted && error.retryable) {
    api.status = 429;
    api.code = "queue_full";
    api.param.reset();
    return api;
  }
  if (error.where == "prompt") return context_exceeded(api, names);
  if (error.where == "choices") api.param = "n";
  if (error.where == "best") api.param = "best_of";
  if (error.where == "max_new_tokens") api.param = std::string(names.max_new_tokens);
  if (api.param) api.message = *api.param + ": " + api.message;
  return api;
}

ApiError run_error(const Error& error) {
  if (error.code == ErrorCode::kExhausted && error.where == engine::kDeadline)
    return {.status = 504, .message = error.message, .type = "timeout_error", .code = "timeout"};
  if (error.where == engine::kWeights) return health_error(error);
  ApiError api = to_api_error(error);
  // The request was right, or it would not have run.
  if (api.status < 500) api.status = error.code == ErrorCode::kExhausted ? 503 : 500;
  api.param.reset();
  if (error.code == ErrorCode::kExhausted) api.code = "out_of_memory";
  // Nothing is too busy: somebody ended it.
  if (error.code == ErrorCode::kCancelled) {
    api.type = "cancelled_error";
    api.code = "cancelled";
  }
  return api;
}

}  // namespace kvern::server
