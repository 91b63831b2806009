#include "server/protocol/context.h"

#include <gtest/gtest.h>

#include "server/protocol/support/protocol_world.h"
#include "support/result_matchers.h"

namespace kvern::server {
namespace {

class QuietSink : public engine::GenerationSink {
  void on_token(engine::TokenEvent) override {}
  void on_choice_end(engine::ChoiceEnd) override {}
  void on_end(const engine::RequestEnd&) override {}
  void on_error(const Error&) override {}
};

class ContextTest : public testing::Test {
 protected:
  engine::ServiceRequest submit(std::string client, engine::ServiceRequest request) {
    HttpRequest http{.client = std::move(client), .usage = usage_};
    exchange_ = std::make_shared<LocalExchange>(std::move(http), [](HttpResponse) {});
    EXPECT_OK(world_.context.submit(*exchange_, std::move(request), std::make_shared<QuietSink>()));
    return world_.service.requests().back();
  }
  test::ProtocolWorld world_;
  std::shared_ptr<RequestUsage> usage_ = std::make_shared<RequestUsage>();
  std::shared_ptr<LocalExchange> exchange_;
};

TEST_F(ContextTest, serves_its_names_only) {
  EXPECT_TRUE(world_.context.serves("kvern-tiny") && world_.context.serves("tiny/alias"));
  EXPECT_FALSE(world_.context.serves("") || world_.context.serves("kvern"));
}

TEST_F(ContextTest, the_turn_is_shared_between_keys_and_their_users) {
  EXPECT_NE(submit("key", {.client = "ann"}).client, submit("key", {.client = "bob"}).client);
  EXPECT_NE(submit("key", {.client = "ann"}).client, submit("other", {.client = "ann"}).client);
  EXPECT_EQ(submit("key", {.client = "ann"}).client, submit("key", {.client = "ann"}).client);
}

TEST_F(ContextTest, no_client_reaches_the_prefixes_of_another) {
  EXPECT_NE(submit("a", {.cache_namespace = "x"}).cache_namespace,
            submit("b", {.cache_namespace = "x"}).cache_namespace);
  EXPECT_NE(submit("a", {.cache_namespace = "b\nx"}).cache_namespace,
            submit("a\nb", {.cache_namespace = "x"}).cache_namespace.substr(1));
}

TEST_F(ContextTest, a_deadline_counts_from_the_arrival) {
  EXPECT_FALSE(submit("a", {}).deadline);
  world_.context.limits.request_timeout = std::chrono::seconds(5);
  EXPECT_EQ(submit("a", {}).deadline, world_.clock.now() + std::chrono::seconds(5));
}

TEST_F(ContextTest, tokens_are_counted_for_the_log) {
  world_.service.play(test::say(*test::bundled_engine().tokenizer(), {{.text = "Hello there."}}));
  submit("a", {.generate = {.prompt = {1, 2, 3}}});
  EXPECT_EQ(usage_->prompt_tokens, 3);
  EXPECT_EQ(usage_->cached_tokens, 1);
  EXPECT_EQ(usage_->generated_tokens, 4);
}

TEST_F(ContextTest, a_client_that_goes_cancels) {
  world_.service.play(nullptr);
  submit("a", {});
  exchange_->close();
  EXPECT_EQ(world_.service.cancelled().size(), 1U);
}

TEST_F(ContextTest, saved_prefixes_are_those_of_the_requests_that_made_them) {
  const HttpRequest http{.client = "key"};
  EXPECT_EQ(submit("key", {.cache_namespace = "salt"}).cache_namespace,
            ProtocolContext::name_space(http, "salt"));
  EXPECT_NE(ProtocolContext::name_space(http, "salt"), ProtocolContext::name_space(http, ""));
}

}  // namespace
}  // namespace kvern::server
