#include "engine/loop/batch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "engine/support/engines.h"
#include "engine/support/generation.h"
#include "support/result_matchers.h"
#include "text/grammar/grammar.h"

namespace kvern::engine {
namespace {

using test::expect_same;
using test::RecordingSink;
using test::request_for;
using test::run_all;
using test::run_cold;
using test::submit;
using test::ThrowingSink;
using test::tokens_of;
using testing::ElementsAre;
using testing::SizeIs;

class BatchTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    EngineOptions options{.context_tokens = 256, .chunk_tokens = 16};
    options.kv_budget_bytes = 0;
    auto opened = test::open_bundled(options);
    ASSERT_OK(opened);
    engine_ = std::move(*opened).release();
  }
  static void TearDownTestSuite() { delete engine_; }

  static std::vector<TokenId> encode(std::string_view text) {
    return engine_->tokenizer()->encode(text, {.add_special = true});
  }
  std::shared_ptr<RecordingSink> run(const ServiceRequest& request, LoopOptions options = {}) {
    Batch batch(*engine_, *clock_, options);
    auto sink = submit(batch, request);
    run_all(batch);
    return sink;
  }

  std::unique_ptr<Clock> clock_ = make_system_clock();
  static Engine* engine_;
};
Engine* BatchTest::engine_ = nullptr;

TEST_F(BatchTest, delivers_progress_tokens_and_ends) {
  const auto sink = run(request_for(tokens_of(1, 40), 5));
  ASSERT_TRUE(sink->end);
  ASSERT_THAT(sink->prompts, SizeIs(3));
  EXPECT_EQ(sink->prompts[0].computed, 16);
  EXPECT_EQ(sink->prompts[2].computed, 40);
  ASSERT_THAT(sink->choices, SizeIs(1));
  EXPECT_THAT(sink->choices[0].ids, SizeIs(5));
  EXPECT_THAT(sink->choices[0].hashes, SizeIs(5));
  EXPECT_EQ(sink->choices[0].reason, FinishReason::kLength);
  EXPECT_EQ(sink->end->prompt_tokens, 40);
  EXPECT_EQ(sink->end->cached_tokens, 0);
  EXPECT_EQ(sink->end->generated_tokens, 5);
  EXPECT_GE(sink->end->decode_ms, 0);
  EXPECT_GT(sink->end->prefill_ms, 0);
}

TEST_F(BatchTest, computes_the_prompt_when_no_token_is_wanted) {
  ServiceRequest request = request_for(tokens_of(1, 20), 0);
  request.choices = 2;
  const auto sink = run(request);
  ASSERT_TRUE(sink->end);
  EXPECT_EQ(sink->end->prompt_tokens, 20);
  EXPECT_EQ(sink->end->generated_tokens, 0);
  ASSERT_THAT(sink->choices, SizeIs(2));
  for (const auto& choice : sink->choices) EXPECT_EQ(choice.reason, FinishReason::kLength);
}

TEST_F(BatchTest, cuts_at_a_stop_string_and_names_it) {
  const auto free = run(request_for(encode("One day, a small boy named Tom found a"), 30));
  const std::string whole = free->choices[0].text;
  ASSERT_GT(whole.size(), 30U);
  ServiceRequest request = request_for(encode("One day, a small boy named Tom found a"), 30);
  request.generate.stop = {"never in this text", whole.substr(11, 7)};
  const auto cut = run(request);
  EXPECT_EQ(cut->choices[0].text, whole.substr(0, whole.find(request.generate.stop[1])));
  EXPECT_EQ(cut->choices[0].stop_string, request.generate.stop[1]);
  EXPECT_EQ(cut->choices[0].reason, FinishReason::kStop);
}

TEST_F(BatchTest, ends_at_an_end_token_unless_it_is_ignored) {
  ServiceRequest request = request_for(tokens_of(1, 9), 6);
  request.generate.sampling.logit_bias = {{.token = engine_->end_tokens().front(), .bias = 1000}};
  EXPECT_THAT(run(request)->choices[0].ids, SizeIs(6));
  request.generate.ignore_end_tokens = false;
  const auto ended = run(request);
  EXPECT_THAT(ended->choices[0].ids, ElementsAre(engine_->end_tokens().front()));
  EXPECT_EQ(ended->choices[0].reason, FinishReason::kStop);
  EXPECT_EQ(ended->choices[0].text, "");
}

TEST_F(BatchTest, ends_with_length_when_the_context_is_full) {
  const auto sink = run(request_for(tokens_of(1, 250), 50));
  EXPECT_THAT(sink->choices[0].ids, SizeIs(7));  // the last one is sampled only
  EXPECT_EQ(sink->choices[0].reason, FinishReason::kLength);
}

// Case B69: children with one seed are not the same child.
TEST_F(BatchTest, B69_choices_have_seeds_of_their_own) {
  ServiceRequest request = request_for(encode("One day"), 16);
  request.generate.sampling.temperature = 1;
  request.generate.sampling.seed = 7;
  const auto alone = run(request);
  request.choices = 3;
  const auto three = run(request);
  ASSERT_THAT(three->choices, SizeIs(3));
  std::set<std::vector<TokenId>> texts;
  for (const auto& choice : three->choices) texts.insert(choice.ids);
  EXPECT_THAT(texts, SizeIs(3));
  EXPECT_EQ(three->choices[0].ids, alone->choices[0].ids);
  EXPECT_EQ(three->end->prompt_tokens, alone->end->prompt_tokens);
  EXPECT_EQ(three->end->generated_tokens, 48);
  for (int32_t choice = 1; choice < 3; ++choice) {
    ServiceRequest single = request;
    single.choices = 1;
    single.generate.sampling.seed = choice_seed(7, choice);
    const auto solo = run(single);
    EXPECT_EQ(three->choices[static_cast<size_t>(choice)].ids, solo->choices[0].ids);
    EXPECT_EQ(three->choices[static_cast<size_t>(choice)].hashes, solo->choices[0].hashes);
  }
}

TEST_F(BatchTest, some_choices_may_end_with_their_first_token) {
  ServiceRequest request = request_for(encode("One day"), 12);
  // Two tokens about as likely as each other, one of which ends the text.
  request.generate.sampling.temperature = 1000;
  request.generate.sampling.top_k = 2;
  request.generate.ignore_end_tokens = false;
  request.generate.sampling.logit_bias = {{.token = engine_->end_tokens().front(), .bias = 10000},
                                          {.token = 41, .bias = 10000}};
  request.choices = 8;
  // Whichever of them ends first, the one that holds the prompt's state included.
  std::set<size_t> lengths_of_first;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    request.generate.sampling.seed = seed;
    const auto sink = run(request);
    ASSERT_TRUE(sink->end);
    lengths_of_first.insert(sink->choices[0].ids.size());
    for (int32_t choice = 0; choice < 8; ++choice) {
      ServiceRequest single = request;
      single.choices = 1;
      single.generate.sampling.seed = choice_seed(seed, choice);
      if (choice % 3 == 0) {
        EXPECT_EQ(run(single)->choices[0].hashes, sink->choices[static_cast<size_t>(choice)].hashes);
      }
    }
  }
  EXPECT_TRUE(lengths_of_first.contains(1));
  EXPECT_GT(lengths_of_first.size(), 1U);
  EXPECT_EQ(engine_->kv().live_bytes(), 0U);
}

TEST_F(BatchTest, gives_out_the_best_choices_by_their_mean_logprob) {
  ServiceRequest request = request_for(encode("One day"), 10);
  request.generate.sampling.temperature = 1.5F;
  request.generate.sampling.top_logprobs = 0;
  request.choices = 6;
  const auto all = run(request);
  std::vector<std::pair<double, std::vector<TokenId>>> ranked;
  for (const auto& choice : all->choices) {
    double sum = 0;
    for (const TokenLogprobs& token : choice.logprobs) sum += token.logprob;
    ranked.emplace_back(-sum / static_cast<double>(choice.logprobs.size()), choice.ids);
  }
  std::ranges::sort(ranked);
  request.best = 2;
  request.generate.sampling.top_logprobs.reset();
  const auto best = run(request);
  ASSERT_THAT(best->choices, SizeIs(2));
  EXPECT_EQ(best->choices[0].ids, ranked[0].second);
  EXPECT_EQ(best->choices[1].ids, ranked[1].second);
  EXPECT_TRUE(best->choices[0].logprobs.empty());  // computed, but not asked for
  EXPECT_EQ(best->end->generated_tokens, 60);
}

TEST_F(BatchTest, log_probabilities_of_the_prompt_are_those_of_its_tokens) {
  ServiceRequest request = request_for(tokens_of(3, 50), 4);
  request.prompt_logprobs = 2;
  const auto sink = run(request);
  ASSERT_TRUE(sink->end);
  ASSERT_THAT(sink->end->prompt_logprobs, SizeIs(49));
  EXPECT_EQ(sink->end->cached_tokens, 0);
  // What generation says of the same tokens: force each with a bias, which leaves its log-probability.
  for (const size_t at : {size_t{1}, size_t{16}, size_t{33}, size_t{49}}) {
    const auto& prompt = request.generate.prompt;
    ServiceRequest forced = request_for({prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(at)}, 1);
    forced.generate.sampling.top_logprobs = 2;
    forced.generate.sampling.logit_bias = {{.token = prompt[at], .bias = 10000}};
    const auto expected = run(forced);
    ASSERT_EQ(expected->choices[0].ids[0], prompt[at]);
    const TokenLogprobs& got = sink->end->prompt_logprobs[at - 1];
    EXPECT_EQ(got.token, prompt[at]);
    EXPECT_EQ(got.logprob, expected->choices[0].logprobs[0].logprob);
    EXPECT_EQ(got.top, expected->choices[0].logprobs[0].top);
  }
  ServiceRequest plain = request;
  plain.prompt_logprobs.reset();
  EXPECT_EQ(run(plain)->choices[0].hashes, sink->choices[0].hashes);
  ServiceRequest echo = request;
  echo.generate.max_new_tokens = 0;
  EXPECT_THAT(run(echo)->end->prompt_logprobs, SizeIs(49));
}

TEST_F(BatchTest, refuses_at_once_what_cannot_run) {
  Batch batch(*engine_, *clock_, {.max_rows = 4, .max_queue = 2});
  const auto refused = [&](const ServiceRequest& request) {
    return batch.submit(request, std::make_shared<RecordingSink>());
  };
  EXPECT_ERROR(refused(request_for({})), kInvalidArgument, "prompt: is empty");
  EXPECT_ERROR(refused(request_for({1}, -1)), kInvalidArgument, "max_new_tokens");
  EXPECT_ERROR(refused(request_for(tokens_of(1, 257))), kInvalidArgument,
               "257 tokens, but the context holds 256");
  EXPECT_ERROR(refused(request_for({1, -1})), kInvalidArgument, "prompt: token -1");
  ServiceRequest request = request_for({1});
  request.choices = 5;
  EXPECT_ERROR(refused(request), kInvalidArgument, "choices: 5 is not between 1 and 4");
  request.choices = 0;
  EXPECT_ERROR(refused(request), kInvalidArgument, "choices");
  request.choices = 2;
  request.best = 3;
  EXPECT_ERROR(refused(request), kInvalidArgument, "best");
  request = request_for({1});
  request.generate.sampling.min_p = -1;
  EXPECT_ERROR(refused(request), kInvalidArgument, "min_p");
  request = request_for({1});
  request.generate.stop = {"\xff"};
  EXPECT_ERROR(refused(request), kInvalidArgument, "stop");
  request = request_for({1});
  request.prompt_logprobs = 1'000'000;
  EXPECT_ERROR(refused(request), kInvalidArgument, "prompt_logprobs");
  const auto a = submit(batch, request_for({1}));
  const auto b = submit(batch, request_for({2}));
  const auto full = refused(request_for({3}));
  EXPECT_ERROR(full, kExhausted, "2 requests wait already");
  EXPECT_TRUE(full.error().retryable);
  run_all(batch);
  EXPECT_TRUE(a->end && b->end);
}

TEST_F(BatchTest, a_grammar_binds_every_choice_and_nobody_else) {
  const auto vocabulary = text::GrammarVocabulary::create(
      *engine_->tokenizer(), static_cast<size_t>(engine_->model().config().vocab), engine_->end_tokens());
  ASSERT_OK_AND_ASSIGN(const auto grammar,
                       text::Grammar::from_gbnf("root ::= (\"yes\" | \"no\") (\" \" [0-9])*", vocabulary));
  Batch batch(*engine_, *clock_, {});
  ServiceRequest request = request_for(encode("One day"), 12);
  request.generate.sampling.temperature = 1.5F;
  request.generate.ignore_end_tokens = false;
  request.grammar = grammar;
  request.choices = 6;
  const ServiceRequest free = request_for(encode("One day"), 12);
  const auto bound = submit(batch, request);
  const auto neighbour = submit(batch, free);
  run_all(batch);
  expect_same(*neighbour, *run_cold(*engine_, free));
  expect_same(*bound, *run_cold(*engine_, request));
  for (const auto& choice : bound->choices) {
    EXPECT_THAT(choice.text, testing::MatchesRegex("(yes|no)( [0-9])*( )?"));
    if (choice.reason == FinishReason::kStop) {
      EXPECT_THAT(choice.text, testing::MatchesRegex("(yes|no)( [0-9])*"));
    }
  }
}

TEST_F(BatchTest, a_text_that_a_grammar_completes_ends) {
  const auto vocabulary = text::GrammarVocabulary::create(
      *engine_->tokenizer(), static_cast<size_t>(engine_->model().config().vocab), engine_->end_tokens());
  ASSERT_OK_AND_ASSIGN(const auto grammar, text::Grammar::from_gbnf("root ::= \"exactly this\"", vocabulary));
  ServiceRequest request = request_for(encode("One day"), 40);
  request.grammar = grammar;
  const auto sink = run(request);
  EXPECT_EQ(sink->choices[0].text, "exactly this");
  EXPECT_EQ(sink->choices[0].reason, FinishReason::kStop);
  const auto other = text::GrammarVocabulary::create(*engine_->tokenizer(), 100'000, {});
  ASSERT_OK_AND_ASSIGN(request.grammar, text::Grammar::from_gbnf("root ::= \"x\"", other));
  Batch batch(*engine_, *clock_, {});
  EXPECT_ERROR(batch.submit(request, std::make_shared<RecordingSink>()), kInvalidArgument, "grammar");
}

// The four neighbours of a request that fails get what they get alone.
class Containment : public BatchTest {
 protected:
  void expect_only_one_to_fail(const ServiceRequest& victim, std::shared_ptr<RecordingSink> sink,
                               const LoopHooks& hooks) {
    std::vector<ServiceRequest> requests;
    std::vector<std::shared_ptr<RecordingSink>> neighbours;
    Batch batch(*engine_, *clock_, {.hooks = hooks});
    for (uint64_t i = 0; i < 5; ++i) {
      if (i == 2) {
        ASSERT_OK(batch.submit(victim, sink));
        continue;
      }
      requests.push_back(request_for(tokens_of(50 + i, 10 + 9 * i), 14));
      neighbours.push_back(submit(batch, requests.back()));
    }
    run_all(batch);
    ASSERT_TRUE(sink->error);
    EXPECT_FALSE(sink->end);
    EXPECT_EQ(batch.stats().requests_failed, 1U);
    EXPECT_EQ(batch.stats().requests_ended, 4U);
    EXPECT_EQ(engine_->kv().live_bytes(), 0U);
    for (size_t i = 0; i < neighbours.size(); ++i) {
      expect_same(*neighbours[i], *run_cold(*engine_, requests[i]));
    }
    expect_same(*run(requests[0]), *neighbours[0]);  // the next one works, too
  }
};

// Cases B62, K38: an error of one row is that row's.
TEST_F(Containment, B62_a_receiver_that_throws_ends_its_own_request) {
  for (const int at : {1, 2, 9}) {
    auto sink = std::make_shared<ThrowingSink>(at);
    expect_only_one_to_fail(request_for(tokens_of(9, 20), 14), sink, {});
    EXPECT_THAT(sink->error->message, testing::HasSubstr("no more of this"));
  }
}

TEST_F(Containment, B62_a_row_whose_logits_are_no_numbers_fails_alone) {
  int left = 10;
  LoopHooks hooks;
  hooks.before_sampling = [&](Ticket ticket, int32_t, std::span<float> logits) {
    if (ticket == Ticket{3} && --left == 0) logits[5] = std::numeric_limits<float>::quiet_NaN();
  };
  auto sink = std::make_shared<RecordingSink>();
  expect_only_one_to_fail(request_for(tokens_of(9, 20), 14), sink, hooks);
  EXPECT_EQ(sink->error->code, ErrorCode::kCorrupt);
  EXPECT_THAT(sink->choices[0].ids, SizeIs(9));
}

TEST_F(Containment, B62_a_fault_in_one_row_fails_alone) {
  LoopHooks hooks;
  hooks.before_sampling = [](Ticket ticket, int32_t choice, std::span<float>) {
    if (ticket == Ticket{3} && choice == 1) throw std::runtime_error("step 10 of row B");
  };
  ServiceRequest victim = request_for(tokens_of(9, 20), 14);
  victim.choices = 3;
  auto sink = std::make_shared<RecordingSink>();
  expect_only_one_to_fail(victim, sink, hooks);
  EXPECT_THAT(sink->error->message, testing::HasSubstr("step 10 of row B"));
}

TEST_F(Containment, B62_biases_that_ban_everything_fail_alone) {
  ServiceRequest victim = request_for(tokens_of(9, 20), 14);
  for (TokenId token = 0; token < engine_->model().config().vocab; ++token) {
    victim.generate.sampling.logit_bias.push_back(
        {.token = token, .bias = -std::numeric_limits<float>::infinity()});
  }
  auto sink = std::make_shared<RecordingSink>();
  expect_only_one_to_fail(victim, sink, {});
  EXPECT_EQ(sink->error->where, "logit_bias");
}

TEST_F(BatchTest, weights_that_were_written_to_end_every_request_that_they_would_answer) {
  const auto files = make_memory_files();
  ASSERT_OK(test::write_synthetic(*files));
  const std::string whole = test::get_file(*files, "/model.gguf");
  ASSERT_OK_AND_ASSIGN(const auto engine, Engine::open(*files, {.model_path = "/model.gguf", .threads = 1}));
  Batch batch(*engine, *clock_, {.max_rows = 2});
  const ServiceRequest request = request_for(tokens_of(1, 20), 8);
  const auto a = submit(batch, request);
  const auto b = submit(batch, request_for(tokens_of(2, 20), 8));
  const auto waiting = submit(batch, request);
  batch.step();
  batch.step();
  test::put_file(*files, "/model.gguf", std::string_view(whole).substr(0, 100));
  batch.step();
  for (const auto& sink : {a, b}) {
    ASSERT_TRUE(sink->error);
    EXPECT_THAT(sink->error->to_string(), testing::HasSubstr("model.gguf: the file changed"));
  }
  EXPECT_FALSE(waiting->over());
  // The same bytes again: nobody knows what was computed meanwhile.
  test::put_file(*files, "/model.gguf", whole);
  run_all(batch);
  ASSERT_TRUE(waiting->error);
  EXPECT_EQ(waiting->error->where, kWeights);
  EXPECT_EQ(batch.stats().requests_failed, 3U);
  EXPECT_EQ(engine->kv().live_bytes(), 0U);
}

TEST_F(BatchTest, a_request_that_is_late_ends_with_an_error) {
  ManualClock clock{std::chrono::system_clock::time_point{}};
  Batch batch(*engine_, clock, {.max_rows = 1});
  ServiceRequest running = request_for(tokens_of(1, 10), 100);
  running.deadline = clock.now() + std::chrono::seconds(10);
  ServiceRequest waiting = request_for(tokens_of(2, 10), 5);
  waiting.deadline = clock.now() + std::chrono::seconds(5);
  ServiceRequest patient = request_for(tokens_of(3, 10), 5);
  const auto first = submit(batch, running);
  const auto second = submit(batch, waiting);
  const auto third = submit(batch, patient);
  for (int i = 0; i < 4; ++i) batch.step();
  EXPECT_FALSE(second->over());
  clock.advance(std::chrono::seconds(5));
  batch.step();
  ASSERT_TRUE(second->error);
  EXPECT_EQ(second->error->code, ErrorCode::kExhausted);
  EXPECT_EQ(second->error->where, "deadline");
  EXPECT_FALSE(first->over());
  clock.advance(std::chrono::seconds(5));
  batch.step();
  ASSERT_TRUE(first->error);
  EXPECT_THAT(first->error->message, testing::HasSubstr("10 of 10 prompt tokens and 5 new ones"));
  run_all(batch);
  EXPECT_TRUE(third->end);
  EXPECT_EQ(engine_->kv().live_bytes(), 0U);
}

TEST_F(BatchTest, clients_are_served_in_turn) {
  Batch batch(*engine_, *clock_, {.max_rows = 1});
  std::vector<std::shared_ptr<RecordingSink>> greedy;
  ServiceRequest request = request_for(tokens_of(1, 10), 3);
  request.client = "greedy";
  for (int i = 0; i < 6; ++i) greedy.push_back(submit(batch, request));
  request.client = "modest";
  const auto modest = submit(batch, request);
  while (!modest->over()) batch.step();
  EXPECT_TRUE(greedy[0]->over());
  EXPECT_FALSE(greedy[2]->over());
  run_all(batch);
}

TEST_F(BatchTest, prompts_with_a_beginning_in_common_compute_it_once) {
  const std::vector<TokenId> common = tokens_of(1, 150);
  Batch batch(*engine_, *clock_, {});
  std::vector<ServiceRequest> requests;
  std::vector<std::shared_ptr<RecordingSink>> sinks;
  for (uint64_t i = 0; i < 8; ++i) {
    std::vector<TokenId> prompt = common;
    const auto tail = tokens_of(100 + i, 4);
    prompt.insert(prompt.end(), tail.begin(), tail.end());
    requests.push_back(request_for(std::move(prompt), 4));
    sinks.push_back(submit(batch, requests.back()));
  }
  run_all(batch);
  EXPECT_LE(batch.stats().computed_tokens, 150U + 8 * 5);
  for (size_t i = 0; i < sinks.size(); ++i) expect_same(*sinks[i], *run_cold(*engine_, requests[i]));
}

TEST_F(BatchTest, namespaces_share_nothing) {
  LoopOptions options;
  options.prefix.max_bytes = size_t{1} << 30;
  Batch batch(*engine_, *clock_, options);
  ServiceRequest request = request_for(tokens_of(1, 60), 2);
  request.cache_namespace = "a";
  submit(batch, request);
  run_all(batch);
  request.cache_namespace = "b";
  const auto other = submit(batch, request);
  run_all(batch);
  EXPECT_EQ(other->end->cached_tokens, 0);
  request.reuse_prefix = false;
  request.cache_namespace = "a";
  const auto alone = submit(batch, request);
  run_all(batch);
  EXPECT_EQ(alone->end->cached_tokens, 0);
  request.reuse_prefix = true;
  const auto same = submit(batch, request);
  run_all(batch);
  EXPECT_EQ(same->end->cached_tokens, 59);
}

TEST_F(BatchTest, counts_and_shows_what_there_is) {
  Batch batch(*engine_, *clock_, {.max_rows = 2});
  ServiceRequest request = request_for(tokens_of(1, 40), 10);
  request.reuse_prefix = false;
  submit(batch, request);
  submit(batch, request);
  submit(batch, request);
  batch.step();
  ServiceStats stats = batch.stats();
  EXPECT_EQ(stats.running, 2);
  EXPECT_EQ(stats.waiting, 1);
  EXPECT_EQ(stats.computed_tokens, 16U);
  const auto rows = batch.rows();
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0].state, "prefill");
  EXPECT_EQ(rows[0].computed_tokens, 16);
  EXPECT_EQ(rows[2].state, "waiting");
  run_all(batch);
  stats = batch.stats();
  EXPECT_EQ(stats.generated_tokens, 30U);
  EXPECT_EQ(stats.prompt_tokens, 120U);
  EXPECT_EQ(stats.requests_ended, 3U);
  EXPECT_EQ(stats.kv_live_bytes, 0U);
  EXPECT_GT(stats.step_seconds, 0);
  EXPECT_GT(stats.schedule_seconds, 0);
  EXPECT_TRUE(batch.rows().empty());
}

TEST_F(BatchTest, receivers_may_submit_and_cancel) {
  struct Chain final : RecordingSink {
    void on_token(TokenEvent event) override {
      RecordingSink::on_token(std::move(event));
      if (choices[0].ids.size() != 3) return;
      next = submit(*batch, request_for(tokens_of(5, 12), 4));
      batch->cancel(mine);
    }
    Batch* batch = nullptr;
    Ticket mine{};
    std::shared_ptr<RecordingSink> next;
  };
  Batch batch(*engine_, *clock_, {});
  auto sink = std::make_shared<Chain>();
  sink->batch = &batch;
  ASSERT_OK_AND_ASSIGN(sink->mine, batch.submit(request_for(tokens_of(1, 20), 50), sink));
  run_all(batch);
  EXPECT_EQ(sink->choices[0].reason, FinishReason::kCancelled);
  EXPECT_THAT(sink->choices[0].ids, SizeIs(3));
  ASSERT_TRUE(sink->next && sink->next->end);
  EXPECT_EQ(sink->next->end->generated_tokens, 4);
}

}  // namespace
}  // namespace kvern::engine
