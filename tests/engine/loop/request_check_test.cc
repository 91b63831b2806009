#include "engine/loop/request_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/support/engines.h"
#include "engine/support/generation.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

using test::request_for;
using test::tokens_of;
using testing::HasSubstr;

std::unique_ptr<Engine> open(size_t budget_bytes) {
  EngineOptions options{.context_tokens = 128};
  options.kv_budget_bytes = budget_bytes;
  auto opened = test::open_bundled(options);
  EXPECT_TRUE(opened.has_value());
  return std::move(*opened);
}

/// The error of a request, which must have one.
Error error_of(const RequestCheck& check, const ServiceRequest& request) {
  const Status status = check.check(request);
  EXPECT_FALSE(status.has_value());
  return status ? Error{} : status.error();
}

TEST(RequestCheck, takes_what_can_run_up_to_the_last_place_of_the_context) {
  const auto engine = open(0);
  const RequestCheck check(*engine, {});
  EXPECT_OK(check.check(request_for(tokens_of(1, 128), 0)));
  ServiceRequest request = request_for(tokens_of(1, 1), 1 << 30);
  request.choices = 64;
  request.best = 64;
  request.generate.stop = {"\n"};
  EXPECT_OK(check.check(request));
}

TEST(RequestCheck, names_the_field_that_cannot_be) {
  const auto engine = open(0);
  const RequestCheck check(*engine, {.max_rows = 4});
  const ServiceRequest good = request_for(tokens_of(1, 4), 4);
  const auto where = [&](auto change) {
    ServiceRequest request = good;
    change(request);
    const Error error = error_of(check, request);
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    return error.where;
  };
  const auto vocabulary = static_cast<TokenId>(engine->model().config().vocab);
  EXPECT_EQ(where([](ServiceRequest& r) { r.generate.prompt.clear(); }), "prompt");
  EXPECT_EQ(where([](ServiceRequest& r) { r.generate.prompt[1] = -1; }), "prompt");
  EXPECT_EQ(where([&](ServiceRequest& r) { r.generate.prompt[1] = vocabulary; }), "prompt");
  EXPECT_EQ(where([](ServiceRequest& r) { r.generate.max_new_tokens = -1; }), "max_new_tokens");
  EXPECT_EQ(where([](ServiceRequest& r) { r.generate.sampling.temperature = -1; }), "temperature");
  EXPECT_EQ(where([](ServiceRequest& r) { r.choices = 0; }), "choices");
  EXPECT_EQ(where([](ServiceRequest& r) { r.choices = 5; }), "choices");
  EXPECT_EQ(where([](ServiceRequest& r) { r.best = 2; }), "best");
  EXPECT_EQ(where([](ServiceRequest& r) { r.prompt_logprobs = 1U << 30; }), "prompt_logprobs");
}

TEST(RequestCheck, names_both_lengths_of_a_prompt_beyond_the_context) {
  const auto engine = open(0);
  const Error error = error_of(RequestCheck(*engine, {}), request_for(tokens_of(1, 129), 1));
  EXPECT_EQ(error.where, "prompt");
  EXPECT_THAT(error.message, HasSubstr("129"));
  EXPECT_THAT(error.message, HasSubstr("128"));
}

TEST(RequestCheck, refuses_only_what_would_not_fit_alone_and_says_what_would) {
  const auto roomy = open(0);
  const size_t row_of_64 = roomy->kv().projected_bytes(64);
  const auto engine = open(row_of_64);
  const RequestCheck check(*engine, {});
  EXPECT_OK(check.check(request_for(tokens_of(1, 32), 32)));
  const Error error = error_of(check, request_for(tokens_of(1, 32), 96));
  EXPECT_EQ(error.code, ErrorCode::kExhausted);
  EXPECT_FALSE(error.retryable);
  EXPECT_THAT(error.message, HasSubstr("ask for at most"));
  EXPECT_THAT(error_of(check, request_for(tokens_of(1, 120), 1)).message, HasSubstr("shorten the prompt"));
}

TEST(RequestCheck, lowers_a_bound_that_nobody_asked_for_to_what_fits) {
  const size_t row_of_64 = open(0)->kv().projected_bytes(64);
  const auto engine = open(row_of_64);
  const RequestCheck check(*engine, {});
  ServiceRequest request = request_for(tokens_of(1, 32), 96);
  check.lower_to_what_fits(request);
  EXPECT_EQ(request.generate.max_new_tokens, 96) << "that was asked for";
  request.as_long_as_fits = true;
  check.lower_to_what_fits(request);
  // The last token is sampled and never computed: it needs no place.
  EXPECT_GE(request.generate.max_new_tokens, 32);
  EXPECT_LE(request.generate.max_new_tokens, 33);
  EXPECT_OK(check.check(request));
  ++request.generate.max_new_tokens;
  EXPECT_FALSE(check.check(request).has_value());

  ServiceRequest long_prompt = request_for(tokens_of(1, 120), 96);
  long_prompt.as_long_as_fits = true;
  check.lower_to_what_fits(long_prompt);
  EXPECT_THAT(error_of(check, long_prompt).message, HasSubstr("shorten the prompt"));
}

}  // namespace
}  // namespace kvern::engine
