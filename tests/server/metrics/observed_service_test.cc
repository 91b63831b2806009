#include "server/metrics/observed_service.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::server {
namespace {

using engine::ChoiceEnd;
using engine::FinishReason;
using engine::GenerationSink;
using engine::RequestEnd;
using engine::ServiceRequest;
using engine::Ticket;
using engine::TokenEvent;

/// Lets a test play the loop.
class FakeService : public engine::GenerationService {
 public:
  Result<Ticket> submit(ServiceRequest, std::shared_ptr<GenerationSink> sink) override {
    if (refuses) return fail(ErrorCode::kInvalidArgument, "no", "prompt");
    sinks.push_back(std::move(sink));
    return Ticket{sinks.size()};
  }
  void cancel(Ticket ticket) override { cancelled.push_back(ticket); }
  engine::ServiceStats stats() const override { return {.steps = 7}; }
  std::vector<engine::RowInfo> rows() const override { return {}; }

  bool refuses = false;
  std::vector<std::shared_ptr<GenerationSink>> sinks;
  std::vector<Ticket> cancelled;
};

/// Writes down what it is told.
class Story : public GenerationSink {
 public:
  void on_prompt(const engine::PromptProgress&) override { text += "prompt "; }
  void on_token(TokenEvent event) override { text += event.text + " "; }
  void on_choice_end(ChoiceEnd) override { text += "choice-end "; }
  void on_end(const RequestEnd&) override { text += "end"; }
  void on_error(const Error& error) override { text += "error: " + error.message; }
  std::string text;
};

class ObservedServiceTest : public testing::Test {
 protected:
  std::shared_ptr<Story> submit(int32_t choices = 1) {
    auto story = std::make_shared<Story>();
    ServiceRequest request;
    request.choices = choices;
    EXPECT_OK(observed_.submit(std::move(request), story));
    return story;
  }
  void after(int milliseconds) { clock_.advance(std::chrono::milliseconds(milliseconds)); }
  void token(size_t request, int32_t choice = 0) {
    inner_.sinks[request]->on_token({.choice = choice, .token = 1, .text = "t", .logprobs = {}});
  }
  static uint64_t count(const Histogram& histogram) { return histogram.read().cumulative.back(); }

  ManualClock clock_{std::chrono::system_clock::time_point{}};
  Metrics metrics_;
  ServiceMetrics service_metrics_{metrics_};
  FakeService inner_;
  ObservedService observed_{inner_, clock_, service_metrics_};
};

TEST_F(ObservedServiceTest, PassesEverythingOn) {
  const auto story = submit();
  inner_.sinks[0]->on_prompt({});
  token(0);
  inner_.sinks[0]->on_choice_end({});
  inner_.sinks[0]->on_end({});
  EXPECT_EQ(story->text, "prompt t choice-end end");
  EXPECT_EQ(observed_.stats().steps, 7U);
  observed_.cancel(Ticket{5});
  EXPECT_EQ(inner_.cancelled, std::vector{Ticket{5}});
}

TEST_F(ObservedServiceTest, TimesTheFirstTokenTheGapsAndTheWhole) {
  submit(2);
  after(30);
  token(0, 0);
  after(1);
  token(0, 1);  // Another choice: no gap between the two.
  after(9);
  token(0, 0);
  after(20);
  token(0, 1);
  after(40);
  inner_.sinks[0]->on_end(
      {.prompt_tokens = 5, .generated_tokens = 4, .queue_ms = 10, .prefill_ms = 20, .decode_ms = 70});
  EXPECT_DOUBLE_EQ(service_metrics_.time_to_first_token.read().sum, 0.030);
  EXPECT_EQ(count(service_metrics_.time_to_first_token), 1U);
  EXPECT_EQ(count(service_metrics_.inter_token_latency), 2U);
  EXPECT_DOUBLE_EQ(service_metrics_.inter_token_latency.read().sum, 0.010 + 0.029);
  EXPECT_DOUBLE_EQ(service_metrics_.time_per_output_token.read().sum, 0.0195);
  EXPECT_DOUBLE_EQ(service_metrics_.e2e_latency.read().sum, 0.100);
  EXPECT_DOUBLE_EQ(service_metrics_.queue_time.read().sum, 0.010);
  EXPECT_DOUBLE_EQ(service_metrics_.inference_time.read().sum, 0.090);
  EXPECT_EQ(service_metrics_.prompt_tokens.read().sum, 5);
  EXPECT_EQ(service_metrics_.generation_tokens.read().sum, 4);
  EXPECT_EQ(service_metrics_.choices.read().sum, 2);
}

TEST_F(ObservedServiceTest, CountsHowRequestsEnd) {
  submit(3);
  inner_.sinks[0]->on_choice_end({.reason = FinishReason::kStop});
  inner_.sinks[0]->on_choice_end({.reason = FinishReason::kLength});
  inner_.sinks[0]->on_choice_end({.reason = FinishReason::kCancelled});
  inner_.sinks[0]->on_end({});
  const auto failed = submit();
  inner_.sinks[1]->on_error({.message = "reason"});
  EXPECT_EQ(failed->text, "error: reason");
  EXPECT_EQ(service_metrics_.ended_by_stop.value(), 1U);
  EXPECT_EQ(service_metrics_.ended_by_length.value(), 1U);
  EXPECT_EQ(service_metrics_.ended_by_abort.value(), 1U);
  EXPECT_EQ(service_metrics_.ended_by_error.value(), 1U);
}

TEST_F(ObservedServiceTest, KnowsWhatIsOpen) {
  submit();
  submit();
  EXPECT_EQ(observed_.open(), 2);
  inner_.sinks[0]->on_end({});
  EXPECT_EQ(observed_.open(), 1);
  inner_.refuses = true;
  EXPECT_ERROR(observed_.submit({}, std::make_shared<Story>()), kInvalidArgument, "prompt");
  EXPECT_EQ(observed_.open(), 1);
  EXPECT_EQ(service_metrics_.refused.value(), 1U);
}

TEST_F(ObservedServiceTest, DrainingLetsNothingInAndEndsNothing) {
  const auto running = submit();
  observed_.refuse_new();
  EXPECT_ERROR(observed_.submit({}, std::make_shared<Story>()), kExhausted, "shutting down");
  EXPECT_TRUE(inner_.cancelled.empty());
  inner_.sinks[0]->on_end({});
  EXPECT_EQ(running->text, "end");
}

TEST_F(ObservedServiceTest, EndingAllIsAnErrorThatSaysWhy) {
  const auto ended = submit();
  inner_.sinks[0]->on_end({});
  const auto running = submit();
  token(1);
  observed_.end_all();
  EXPECT_EQ(inner_.cancelled, std::vector{Ticket{2}});
  token(1);
  inner_.sinks[1]->on_choice_end({.reason = FinishReason::kCancelled});
  inner_.sinks[1]->on_end({});
  EXPECT_EQ(running->text, "t error: the server is shutting down");
  EXPECT_EQ(ended->text, "end");
  EXPECT_EQ(observed_.open(), 0);
}

TEST_F(ObservedServiceTest, SinksMayOutliveIt) {
  auto observed = std::make_unique<ObservedService>(inner_, clock_, service_metrics_);
  const auto story = std::make_shared<Story>();
  ASSERT_OK(observed->submit({}, story));
  observed.reset();
  inner_.sinks[0]->on_end({});
  EXPECT_EQ(story->text, "end");
}

}  // namespace
}  // namespace kvern::server
