// Reported faults (docs/parity.md) that show in the whole loop and in no part of it alone.
#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "engine/load/grammars.h"
#include "engine/loop/batch.h"
#include "engine/support/engines.h"
#include "engine/support/generation.h"
#include "support/result_matchers.h"
#include "text/grammar/grammar_cache.h"

namespace kvern::engine {
namespace {

using test::expect_same;
using test::RecordingSink;
using test::request_for;
using test::run_all;
using test::run_cold;
using test::submit;
using test::tokens_of;
using testing::IsSupersetOf;
using testing::SizeIs;

/// A batch in which the nth token of every row is the one that is wanted.
class Forced {
 public:
  Forced(Engine& engine, size_t nth, TokenId token) : engine_(engine), nth_(nth), token_(token) {}

  std::shared_ptr<RecordingSink> run(const ServiceRequest& request) {
    std::map<int32_t, size_t> sampled;
    LoopOptions options;
    options.hooks.before_sampling = [&](Ticket, int32_t choice, std::span<float> logits) {
      if (sampled[choice]++ == nth_) logits[static_cast<size_t>(token_)] = 1e9F;
    };
    Batch batch(engine_, *clock_, options);
    auto sink = submit(batch, request);
    run_all(batch);
    return sink;
  }

 private:
  std::unique_ptr<Clock> clock_ = make_system_clock();
  Engine& engine_;
  size_t nth_;
  TokenId token_;
};

// The configuration names one token, the generation's a list, the vocabulary another: each of them ends a
// row.
TEST(EndTokenCase, B81_every_token_that_any_file_names_ends_a_row) {
  const auto files = make_memory_files();
  test::copy_bundled_folder(*files);
  test::put_file(*files, "/hf/generation_config.json", R"({"eos_token_id": [77, 106]})");
  ASSERT_OK_AND_ASSIGN(const auto engine,
                       Engine::open(*files, {.model_path = "/hf", .threads = 2, .context_tokens = 128}));
  ASSERT_THAT(engine->end_tokens(),
              IsSupersetOf(std::vector<TokenId>{77, 106, engine->tokenizer()->eos().value()}));
  ServiceRequest request = request_for(tokens_of(1, 9), 12);
  for (const TokenId end : engine->end_tokens()) {
    SCOPED_TRACE(end);
    request.generate.ignore_end_tokens = true;
    const auto ignored = Forced(*engine, 4, end).run(request);
    EXPECT_THAT(ignored->choices[0].ids, SizeIs(12));
    EXPECT_EQ(ignored->choices[0].ids[4], end);
    EXPECT_EQ(ignored->choices[0].reason, FinishReason::kLength);
    request.generate.ignore_end_tokens = false;
    const auto ended = Forced(*engine, 4, end).run(request);
    ASSERT_THAT(ended->choices[0].ids, SizeIs(5));
    EXPECT_EQ(ended->choices[0].reason, FinishReason::kStop);
    const auto before = std::span(ended->choices[0].ids).first(4);
    EXPECT_EQ(ended->choices[0].text, engine->tokenizer()->decode(before))
        << "the end is no part of the text";
    EXPECT_EQ(ended->end->generated_tokens, 5);
  }
}

// What is masked for a row, and how far its grammar is, must be its own, whoever joins, leaves or moves
// beside it.
TEST(GrammarCase, K35_rows_with_grammars_join_and_leave_a_batch_at_any_time) {
  EngineOptions options{.context_tokens = 128, .chunk_tokens = 16};
  options.kv.page = 16;
  options.kv_budget_bytes = 0;
  ASSERT_OK_AND_ASSIGN(const auto roomy, test::open_bundled(options));
  options.kv_budget_bytes = roomy->kv().projected_bytes(96);
  ASSERT_OK_AND_ASSIGN(const auto tight, test::open_bundled(options));
  const auto grammars = make_grammar_cache(*roomy);
  std::vector<ServiceRequest> requests;
  for (uint64_t i = 0; i < 24; ++i) {
    ServiceRequest request = request_for(tokens_of(i, 3 + i % 11), 20 + static_cast<int64_t>(i * 7 % 40));
    request.generate.sampling.temperature = i % 2 == 0 ? 0 : 1;
    request.generate.sampling.seed = i;
    if (i % 3 != 2) {
      ASSERT_OK_AND_ASSIGN(
          request.grammar,
          grammars->gbnf(i % 3 == 0 ? "root ::= \"[\" [0-9]+ (\", \" [0-9]+){2,6} \"]\""
                                    : "root ::= (\"yes\" | \"no\" | \"perhaps\") (\" \" [a-z]+)*"));
    }
    if (i % 6 == 0) request.choices = 2;
    requests.push_back(std::move(request));
  }
  const auto clock = make_system_clock();
  Batch batch(*tight, *clock, {.max_rows = 7, .outside_bytes = options.kv_budget_bytes});
  std::vector<std::shared_ptr<RecordingSink>> sinks;
  for (const ServiceRequest& request : requests) {
    sinks.push_back(submit(batch, request));
    batch.step();
    batch.step();
  }
  run_all(batch);
  EXPECT_GT(batch.stats().moved_out, 0U);
  for (size_t i = 0; i < requests.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "request " << i);
    expect_same(*sinks[i], *run_cold(*roomy, requests[i]));
  }
}

// A text that is complete ends there: what follows would be sampled from nothing.
TEST(GrammarCase, K36_a_row_whose_grammar_is_complete_ends_with_it) {
  ASSERT_OK_AND_ASSIGN(const auto engine, test::open_bundled({.context_tokens = 128}));
  const auto grammars = make_grammar_cache(*engine);
  ServiceRequest request = request_for(tokens_of(1, 5), 60);
  ASSERT_OK_AND_ASSIGN(request.grammar, grammars->gbnf("root ::= \"one\" | \"two\" | \"three\""));
  request.generate.sampling.temperature = 1;
  request.choices = 6;
  const auto sink = run_cold(*engine, request);
  ASSERT_THAT(sink->choices, SizeIs(6));
  for (const auto& choice : sink->choices) {
    EXPECT_THAT(choice.text, testing::AnyOf("one", "two", "three"));
    EXPECT_EQ(choice.reason, FinishReason::kStop);
  }
}

}  // namespace
}  // namespace kvern::engine
