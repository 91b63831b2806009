#include "server/protocol/openai/errors.h"

#include <gtest/gtest.h>

namespace kvern::server::openai {
namespace {

Error error(ErrorCode code, std::string where, bool retryable = false) {
  return {.code = code, .message = "m", .where = std::move(where), .retryable = retryable};
}

TEST(OpenAiErrors, of_requests) {
  const auto status = [](const Error& e) { return request_error(e, kChatPromptField).status; };
  const auto code = [](const Error& e) { return request_error(e, kChatPromptField).code.value_or(""); };
  EXPECT_EQ(status(error(ErrorCode::kInvalidArgument, "n")), 400);
  EXPECT_EQ(code(error(ErrorCode::kInvalidArgument, "n")), "invalid_value");
  EXPECT_EQ(request_error(error(ErrorCode::kInvalidArgument, "n"), kChatPromptField).param, "n");
  EXPECT_EQ(code(error(ErrorCode::kUnsupported, "x")), "unsupported_parameter");
  EXPECT_EQ(status(error(ErrorCode::kNotFound, "model")), 404);
  EXPECT_EQ(code(error(ErrorCode::kNotFound, "model")), "model_not_found");
  EXPECT_EQ(status(error(ErrorCode::kCorrupt, "body")), 400);
  EXPECT_FALSE(request_error(error(ErrorCode::kCorrupt, "body"), kChatPromptField).param);
  EXPECT_EQ(code(error(ErrorCode::kExhausted, "prompt")), "context_length_exceeded");
  EXPECT_EQ(request_error(error(ErrorCode::kExhausted, "prompt"), kChatPromptField).param, "messages");
}

TEST(OpenAiErrors, of_refused_submissions) {
  const ApiError full = submit_error(error(ErrorCode::kExhausted, "queue", true), kTextPromptField);
  EXPECT_EQ(full.status, 429);
  EXPECT_EQ(error_response(full).headers.front().first, "Retry-After");
  EXPECT_EQ(submit_error(error(ErrorCode::kInvalidArgument, "prompt"), kTextPromptField).param, "prompt");
  EXPECT_EQ(submit_error(error(ErrorCode::kExhausted, "max_new_tokens"), kTextPromptField).param,
            "max_tokens");
  EXPECT_EQ(submit_error(error(ErrorCode::kExhausted, "max_new_tokens"), kChatPromptField).param,
            "max_completion_tokens");
  EXPECT_EQ(submit_error(error(ErrorCode::kInvalidArgument, "choices"), kChatPromptField).param, "n");
  EXPECT_EQ(submit_error(error(ErrorCode::kInvalidArgument, "temperature"), kChatPromptField).message,
            "temperature: m");
  EXPECT_EQ(submit_error(error(ErrorCode::kCancelled, ""), kChatPromptField).status, 503) << "it is stopping";
}

TEST(OpenAiErrors, of_runs_are_never_the_clients_fault) {
  for (const ErrorCode code : {ErrorCode::kInvalidArgument, ErrorCode::kNotFound, ErrorCode::kCorrupt,
                               ErrorCode::kUnsupported, ErrorCode::kIo, ErrorCode::kInternal})
    EXPECT_EQ(run_error(error(code, "x")).status, 500);
  EXPECT_EQ(run_error(error(ErrorCode::kExhausted, "deadline")).status, 503);
  EXPECT_EQ(run_error(error(ErrorCode::kCancelled, "")).status, 503);
}

}  // namespace
}  // namespace kvern::server::openai
