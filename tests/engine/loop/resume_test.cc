// A request that a process began and another one goes on with gets the events of an undisturbed one, wherever
// it was cut.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/load/grammars.h"
#include "engine/loop/batch.h"
#include "engine/support/engines.h"
#include "engine/support/generation.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

using test::run_all;
using test::tokens_of;

constexpr int64_t kContext = 256;

/// All that happens, as text, in order; and the tokens as a journal keeps them.
class Journal : public GenerationSink {
 public:
  explicit Journal(int32_t choices) { replay.choices.resize(static_cast<size_t>(choices)); }

  void on_prompt(const PromptProgress& progress) override {
    if (!replay.cached_tokens) replay.cached_tokens = progress.cached;
  }
  void on_token(TokenEvent event) override {
    std::string line = fmt::format("{}: {} '{}'", event.choice, event.token, event.text);
    ReplayedToken token{.sampled = {.token = event.token, .logprob = {}, .top = {}}};
    if (event.logprobs) {
      token.sampled.logprob = event.logprobs->logprob;
      token.sampled.top = event.logprobs->top;
      line += fmt::format(" {}", event.logprobs->logprob);
      for (const TokenLogprob& top : event.logprobs->top)
        line += fmt::format(" {}:{}", top.token, top.logprob);
    }
    events.push_back(line);
    order.push_back(event.choice);
    replayed += event.replayed ? 1 : 0;
    replay.choices.at(static_cast<size_t>(event.choice)).push_back(std::move(token));
  }
  void on_choice_end(ChoiceEnd end) override {
    events.push_back(fmt::format("{}: {} '{}' {}", end.choice, to_string(end.reason), end.text,
                                 end.stop_string.value_or("-")));
    // Known only now.
    auto& tokens = replay.choices.at(static_cast<size_t>(end.choice));
    for (size_t i = 0; i < std::min(tokens.size(), end.logit_hashes.size()); ++i)
      tokens[i].logit_hash = end.logit_hashes[i];
    for (const uint64_t hash : end.logit_hashes) hashes.push_back(hash);
  }
  void on_end(const RequestEnd& end) override {
    events.push_back(
        fmt::format("end: {} {} {}", end.prompt_tokens, end.cached_tokens, end.generated_tokens));
  }
  void on_error(const Error& error) override { events.push_back("error: " + error.to_string()); }

  std::vector<std::string> events;
  std::vector<int32_t> order;  // of tokens, by choice
  std::vector<uint64_t> hashes;
  Replay replay;
  size_t replayed = 0;
};

/// What the journal has after its first `count` tokens.
Replay cut(const Journal& journal, size_t count) {
  Replay replay{.choices = std::vector<std::vector<ReplayedToken>>(journal.replay.choices.size()),
                .cached_tokens = journal.replay.cached_tokens};
  for (size_t i = 0; i < count; ++i) {
    const auto choice = static_cast<size_t>(journal.order[i]);
    replay.choices[choice].push_back(journal.replay.choices[choice][replay.choices[choice].size()]);
  }
  return replay;
}

std::shared_ptr<Journal> submit_journal(Batch& batch, ServiceRequest request) {
  auto sink = std::make_shared<Journal>(request.choices);
  const auto ticket = batch.submit(std::move(request), sink);
  EXPECT_TRUE(ticket.has_value()) << (ticket ? "" : ticket.error().to_string());
  return sink;
}

struct ResumeCase {
  const char* name;
  const char* preset = nullptr;  // of a synthetic model; null: the bundled one
  KvSettings kv = {};
  void (*change)(ServiceRequest& request) = [](ServiceRequest&) {};
  const char* grammar = nullptr;
};

class Resume : public testing::TestWithParam<ResumeCase> {
 protected:
  void SetUp() override {
    EngineOptions options{.threads = 1, .context_tokens = kContext, .chunk_tokens = 32, .kv = GetParam().kv};
    options.kv_budget_bytes = 0;
    if (GetParam().preset == nullptr) {
      ASSERT_OK_AND_ASSIGN(engine_, test::open_bundled(options));
    } else {
      files_ = make_memory_files();
      ASSERT_OK(test::write_synthetic(*files_, GetParam().preset));
      options.model_path = "/model.gguf";
      ASSERT_OK_AND_ASSIGN(engine_, Engine::open(*files_, options));
    }
    request_ = test::request_for(tokens_of(5, 70), 14);
    request_.generate.sampling.seed = 99;
    GetParam().change(request_);
    if (GetParam().grammar == nullptr) return;
    grammars_ = make_grammar_cache(*engine_);
    ASSERT_OK_AND_ASSIGN(request_.grammar, grammars_->gbnf(GetParam().grammar));
  }

  std::shared_ptr<Journal> run(Batch& batch, const ServiceRequest& request) {
    auto sink = submit_journal(batch, request);
    run_all(batch);
    return sink;
  }

  /// In a process of its own: nothing is kept.
  void expect_resumed(const Journal& whole, size_t tokens, const LoopOptions& options) {
    SCOPED_TRACE(testing::Message() << "cut behind " << tokens << " tokens");
    Batch batch(*engine_, *clock_, options);
    ServiceRequest request = request_;
    request.replay = cut(whole, tokens);
    const auto sink = run(batch, request);
    EXPECT_EQ(sink->events, whole.events);
    EXPECT_EQ(sink->hashes, whole.hashes);
    EXPECT_EQ(sink->replayed, tokens);
    const ServiceStats stats = batch.stats();
    EXPECT_EQ(stats.replayed_tokens, tokens);
    EXPECT_EQ(stats.generated_tokens, whole.order.size() - tokens);
    EXPECT_EQ(stats.prompt_tokens, 0U) << "the process that began it has counted the prompt";
    EXPECT_EQ(stats.requests_resumed, 1U);
    EXPECT_EQ(stats.requests_ended, 1U);
  }

  const std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Files> files_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<text::GrammarCache> grammars_;
  ServiceRequest request_;
};

TEST_P(Resume, behind_any_token_gives_the_events_of_an_undisturbed_run) {
  Batch batch(*engine_, *clock_, LoopOptions{});
  const auto whole = run(batch, request_);
  ASSERT_GT(whole->order.size(), 2U);
  ASSERT_THAT(whole->events.back(), testing::StartsWith("end: "));
  LoopOptions keeping;
  keeping.prefix.max_bytes = size_t{64} << 20;
  for (size_t tokens = 0; tokens <= whole->order.size(); ++tokens) {
    expect_resumed(*whole, tokens, LoopOptions{});
    expect_resumed(*whole, tokens, keeping);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Requests, Resume,
    testing::Values(
        ResumeCase{.name = "greedy"},
        ResumeCase{.name = "sampled",
                   .change = [](ServiceRequest& request) { request.generate.sampling.temperature = 1; }},
        ResumeCase{.name = "penalties",
                   .change =
                       [](ServiceRequest& request) {
                         SamplingParams& sampling = request.generate.sampling;
                         sampling.temperature = 1.2F;
                         sampling.repeat_penalty = 1.3F;
                         sampling.repeat_last_n = kWholeHistory;
                         sampling.frequency_penalty = 0.7F;
                         sampling.additive_scope = PenaltyScope::kGenerated;
                       }},
        ResumeCase{.name = "logprobs",
                   .change =
                       [](ServiceRequest& request) {
                         request.generate.sampling.temperature = 0.9F;
                         request.generate.sampling.top_logprobs = 3;
                       }},
        ResumeCase{.name = "prompt_logprobs",
                   .change = [](ServiceRequest& request) { request.prompt_logprobs = 1; }},
        ResumeCase{.name = "stop_string",
                   .change =
                       [](ServiceRequest& request) {
                         request.generate.max_new_tokens = 60;
                         request.generate.stop = {" the ", "and a"};
                       }},
        ResumeCase{.name = "no_prefixes",
                   .change = [](ServiceRequest& request) { request.reuse_prefix = false; }},
        ResumeCase{.name = "one_token_prompt",
                   .change = [](ServiceRequest& request) { request.generate.prompt.resize(1); }},
        ResumeCase{.name = "three_choices",
                   .change =
                       [](ServiceRequest& request) {
                         request.generate.sampling.temperature = 1;
                         request.generate.ignore_end_tokens = false;
                         request.generate.stop = {"e"};
                         request.choices = 3;
                       }},
        ResumeCase{.name = "choices_with_logprobs",
                   .change =
                       [](ServiceRequest& request) {
                         request.generate.sampling.temperature = 1;
                         request.generate.sampling.top_logprobs = 0;
                         request.choices = 3;
                       }},
        ResumeCase{.name = "grammar",
                   .change = [](ServiceRequest& request) { request.generate.sampling.temperature = 1; },
                   .grammar = "root ::= \"[\" [a-z]+ (\", \" [a-z]+)+ \"]\""},
        ResumeCase{.name = "q8", .kv = {.type = "q8"}},
        ResumeCase{.name = "turbo", .preset = "tiny-llama", .kv = {.type = "turbo:k8v3"}},
        ResumeCase{.name = "slab", .kv = {.layout = "slab"}},
        ResumeCase{.name = "transition", .kv = {.type = "q4", .quant_start = 75}},
        ResumeCase{.name = "windows", .preset = "tiny-gemma3"},
        ResumeCase{
            .name = "windows_in_rings", .preset = "tiny-gemma3", .kv = {.type = "q8", .layout = "ring"}}),
    [](const auto& info) { return std::string(info.param.name); });

class ResumeOne : public Resume {};

TEST_P(ResumeOne, whose_choices_lost_different_numbers_of_tokens_keeps_the_order_of_events) {
  request_.choices = 3;
  request_.generate.sampling.temperature = 1;
  Batch batch(*engine_, *clock_, LoopOptions{});
  const auto whole = run(batch, request_);
  Batch other(*engine_, *clock_, LoopOptions{});
  ServiceRequest request = request_;
  request.replay = whole->replay;
  request.replay->choices[0].resize(1);
  request.replay->choices[2].resize(9);
  request.replay->choices[1].clear();
  const auto resumed = run(other, request);
  EXPECT_EQ(resumed->events, whole->events);
}

TEST_P(ResumeOne, takes_kept_prefixes_of_the_prompt_and_of_what_was_generated) {
  LoopOptions keeping;
  keeping.prefix.max_bytes = size_t{64} << 20;
  Batch batch(*engine_, *clock_, keeping);
  const auto whole = run(batch, request_);
  const ServiceStats before = batch.stats();
  ServiceRequest request = request_;
  request.replay = cut(*whole, 10);
  request.replay->cached_tokens.reset();  // it had not begun: it counts here
  const auto resumed = run(batch, request);
  EXPECT_EQ(resumed->order.size(), whole->order.size());
  EXPECT_EQ(resumed->hashes, whole->hashes);
  EXPECT_EQ(batch.stats().computed_tokens, before.computed_tokens);
  EXPECT_EQ(batch.stats().cached_tokens - before.cached_tokens, request_.generate.prompt.size());
}

TEST_P(ResumeOne, can_be_cancelled_while_its_tokens_are_computed) {
  Batch batch(*engine_, *clock_, LoopOptions{.chunk_tokens = 8});
  const auto whole = run(batch, request_);
  ServiceRequest request = request_;
  request.replay = cut(*whole, 6);
  auto sink = std::make_shared<Journal>(1);
  ASSERT_OK_AND_ASSIGN(const Ticket ticket, batch.submit(request, sink));
  batch.step();
  EXPECT_EQ(sink->order.size(), 6U);
  EXPECT_EQ(batch.rows().front().state, "prefill");
  batch.cancel(ticket);
  batch.step();
  ASSERT_EQ(sink->events.size(), 8U);
  EXPECT_THAT(sink->events[6], testing::StartsWith("0: cancelled"));
  EXPECT_EQ(sink->events[7], "end: 70 0 6");
  EXPECT_EQ(engine_->kv().live_bytes(), 0U);
}

TEST_P(ResumeOne, with_tokens_that_the_model_does_not_have_is_refused) {
  Batch batch(*engine_, *clock_, LoopOptions{});
  ServiceRequest request = request_;
  request.replay.emplace();
  request.replay->choices = {{{.sampled = {.token = 1 << 30, .logprob = {}, .top = {}}}}};
  const auto refused = batch.submit(request, std::make_shared<Journal>(1));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().where, "replay");
  request.replay->choices = {{}, {}};
  EXPECT_FALSE(batch.submit(request, std::make_shared<Journal>(1)).has_value());
  request.replay->choices = {{{.sampled = {.token = 5, .logprob = {}, .top = {}}}}};
  request.generate.sampling.top_logprobs = 1;
  EXPECT_FALSE(batch.submit(request, std::make_shared<Journal>(1)).has_value());
}

INSTANTIATE_TEST_SUITE_P(Plain, ResumeOne, testing::Values(ResumeCase{.name = "bundled"}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kvern::engine
