#include "server/protocol/request_errors.h"

#include <gtest/gtest.h>

#include "engine/load/engine.h"
#include "engine/request/generation_service.h"

namespace kvern::server {
namespace {

constexpr FieldNames kChatFields{.prompt = "messages", .max_new_tokens = "max_completion_tokens"};
constexpr FieldNames kTextFields{.prompt = "prompt", .max_new_tokens = "max_tokens"};

Error error(ErrorCode code, std::string where, bool retryable = false) {
  return {.code = code, .message = "m", .where = std::move(where), .retryable = retryable};
}

TEST(RequestErrors, of_a_model_whose_file_has_changed) {
  const Error changed = error(ErrorCode::kCorrupt, std::string(engine::kWeights));
  for (const ApiError& api : {submit_error(changed, kChatFields), run_error(changed)}) {
    EXPECT_EQ(api.status, 503);
    EXPECT_EQ(api.code, "model_changed");
    EXPECT_FALSE(api.param);
  }
}

TEST(RequestErrors, of_requests) {
  const auto status = [](const Error& e) { return request_error(e, kChatFields).status; };
  const auto code = [](const Error& e) { return request_error(e, kChatFields).code.value_or(""); };
  EXPECT_EQ(status(error(ErrorCode::kInvalidArgument, "n")), 400);
  EXPECT_EQ(code(error(ErrorCode::kInvalidArgument, "n")), "invalid_value");
  EXPECT_EQ(request_error(error(ErrorCode::kInvalidArgument, "n"), kChatFields).param, "n");
  EXPECT_EQ(code(error(ErrorCode::kUnsupported, "x")), "unsupported_parameter");
  EXPECT_EQ(status(error(ErrorCode::kNotFound, "model")), 404);
  EXPECT_EQ(code(error(ErrorCode::kNotFound, "model")), "model_not_found");
  EXPECT_EQ(status(error(ErrorCode::kCorrupt, "body")), 400);
  EXPECT_FALSE(request_error(error(ErrorCode::kCorrupt, "body"), kChatFields).param);
  EXPECT_EQ(code(error(ErrorCode::kExhausted, "prompt")), "context_length_exceeded");
  EXPECT_EQ(request_error(error(ErrorCode::kExhausted, "prompt"), kChatFields).param, "messages");
}

TEST(RequestErrors, of_refused_submissions) {
  const ApiError full = submit_error(error(ErrorCode::kExhausted, "queue", true), kTextFields);
  EXPECT_EQ(full.status, 429);
  EXPECT_EQ(error_response(full).headers.front().first, "Retry-After");
  EXPECT_EQ(submit_error(error(ErrorCode::kInvalidArgument, "prompt"), kTextFields).param, "prompt");
  EXPECT_EQ(submit_error(error(ErrorCode::kExhausted, "max_new_tokens"), kTextFields).param, "max_tokens");
  EXPECT_EQ(submit_error(error(ErrorCode::kExhausted, "max_new_tokens"), kChatFields).param,
            "max_completion_tokens");
  EXPECT_EQ(submit_error(error(ErrorCode::kInvalidArgument, "choices"), kChatFields).param, "n");
  EXPECT_EQ(submit_error(error(ErrorCode::kInvalidArgument, "temperature"), kChatFields).message,
            "temperature: m");
  EXPECT_EQ(submit_error(error(ErrorCode::kCancelled, ""), kChatFields).status, 503) << "it is stopping";
}

TEST(RequestErrors, of_runs_are_never_the_clients_fault) {
  for (const ErrorCode code : {ErrorCode::kInvalidArgument, ErrorCode::kNotFound, ErrorCode::kCorrupt,
                               ErrorCode::kUnsupported, ErrorCode::kIo, ErrorCode::kInternal})
    EXPECT_EQ(run_error(error(code, "x")).status, 500);
  EXPECT_EQ(run_error(error(ErrorCode::kExhausted, "")).status, 503);
  const ApiError cancelled = run_error(error(ErrorCode::kCancelled, ""));
  EXPECT_EQ(cancelled.status, 503);
  EXPECT_EQ(cancelled.type, "cancelled_error") << "nothing is too busy";
}

TEST(RequestErrors, of_runs_that_were_late_are_timeouts) {
  const ApiError late = run_error(error(ErrorCode::kExhausted, std::string(engine::kDeadline)));
  EXPECT_EQ(late.status, 504);
  EXPECT_EQ(late.type, "timeout_error");
  EXPECT_EQ(late.code, "timeout");
  EXPECT_FALSE(late.param);
}

}  // namespace
}  // namespace kvern::server
