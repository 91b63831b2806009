#include "engine/loop/session.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/support/engines.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

using testing::ElementsAreArray;
using testing::SizeIs;

/// Greedy, with hashes.
GenerateRequest request_for(std::vector<TokenId> prompt, int64_t count = 12) {
  GenerateRequest request{.prompt = std::move(prompt), .max_new_tokens = count};
  request.sampling.temperature = 0;
  request.ignore_end_tokens = true;
  request.hash_logits = true;
  return request;
}

class SessionTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto opened = test::open_bundled({.context_tokens = 256, .chunk_tokens = 16});
    ASSERT_OK(opened);
    engine_ = std::move(*opened).release();
  }
  static void TearDownTestSuite() { delete engine_; }

  std::vector<TokenId> encode(std::string_view text) const {
    return engine_->tokenizer()->encode(text, {.add_special = true});
  }
  Result<GenerateResult> cold(const GenerateRequest& request) const {
    Session session(*engine_);
    return session.generate(request);
  }

  static Engine* engine_;
};
Engine* SessionTest::engine_ = nullptr;

void expect_same(const GenerateResult& result, const GenerateResult& expected) {
  EXPECT_EQ(result.ids, expected.ids);
  EXPECT_EQ(result.text, expected.text);
  EXPECT_EQ(result.logit_hashes, expected.logit_hashes);
  EXPECT_EQ(result.finish_reason, expected.finish_reason);
  EXPECT_EQ(result.prompt_tokens, expected.prompt_tokens);
}

TEST_F(SessionTest, a_result_does_not_depend_on_what_the_row_held_before) {
  const std::vector<TokenId> story =
      encode("One day, a small boy named Tom found a purple button in the garden.");
  const std::vector<TokenId> other = encode("A dog lived on a farm near the hill.");
  Session session(*engine_);
  std::vector<TokenId> held;
  // Growing, shrinking, branching, repeating and unrelated prompts in one session.
  std::vector<std::vector<TokenId>> prompts = {story, story, other};
  for (const size_t count : {size_t{1}, size_t{5}, story.size() - 1})
    prompts.emplace_back(story.begin(), story.begin() + static_cast<ptrdiff_t>(count));
  prompts.push_back(story);
  prompts.back()[story.size() / 2] = other.back();
  for (size_t turn = 0; turn < prompts.size(); ++turn) {
    SCOPED_TRACE("turn " + std::to_string(turn));
    const GenerateRequest request = request_for(prompts[turn]);
    ASSERT_OK_AND_ASSIGN(const GenerateResult expected, cold(request));
    ASSERT_OK_AND_ASSIGN(const GenerateResult result, session.generate(request));
    expect_same(result, expected);
    EXPECT_EQ(expected.reused_tokens, 0);
    // What the row held: the last prompt and all sampled tokens but the last, which was never computed.
    const auto common = std::ranges::mismatch(held, request.prompt).in1 - held.begin();
    EXPECT_EQ(result.reused_tokens,
              std::min<int64_t>(common, static_cast<int64_t>(request.prompt.size()) - 1));
    held = request.prompt;
    held.insert(held.end(), result.ids.begin(), result.ids.end() - 1);
  }
}

TEST_F(SessionTest, a_continued_conversation_computes_only_what_is_new) {
  Session session(*engine_);
  const GenerateRequest first = request_for(encode("The old woman went to the market and"), 20);
  ASSERT_OK_AND_ASSIGN(const GenerateResult answer, session.generate(first));
  GenerateRequest second = first;
  second.prompt.insert(second.prompt.end(), answer.ids.begin(), answer.ids.end());
  const std::vector<TokenId> more = encode(" Then she");
  second.prompt.insert(second.prompt.end(), more.begin(), more.end());
  ASSERT_OK_AND_ASSIGN(const GenerateResult result, session.generate(second));
  EXPECT_EQ(result.reused_tokens, static_cast<int64_t>(first.prompt.size() + answer.ids.size() - 1));
  ASSERT_OK_AND_ASSIGN(const GenerateResult expected, cold(second));
  expect_same(result, expected);
}

// A row whose window has moved on, or that was encoded, cannot be cut back to a common beginning.
void expect_second_turns_to_be_exact(const std::string& preset, const KvSettings& kv) {
  const auto files = make_memory_files();
  ASSERT_OK(test::write_synthetic(*files, preset));
  ASSERT_OK_AND_ASSIGN(
      const auto engine,
      Engine::open(
          *files,
          {.model_path = "/model.gguf", .threads = 2, .context_tokens = 200, .chunk_tokens = 16, .kv = kv}));
  std::vector<TokenId> prompt;
  for (TokenId i = 0; i < 60; ++i) prompt.push_back(3 + i * 7 % 200);
  Session session(*engine);
  ASSERT_OK(session.generate(request_for(prompt)));
  for (const size_t common : {size_t{58}, size_t{30}, size_t{0}}) {
    std::vector<TokenId> next(prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(common));
    for (TokenId i = 0; i < 20; ++i) next.push_back(5 + i * 11 % 200);
    ASSERT_OK_AND_ASSIGN(const GenerateResult warm, session.generate(request_for(next)));
    Session fresh(*engine);
    ASSERT_OK_AND_ASSIGN(const GenerateResult cold, fresh.generate(request_for(next)));
    expect_same(warm, cold);
    EXPECT_LE(warm.reused_tokens, static_cast<int64_t>(common));
    ASSERT_OK(session.generate(request_for(prompt)));
  }
}

TEST(SessionOnWindows, starts_over_where_the_common_beginning_is_not_kept) {
  expect_second_turns_to_be_exact("tiny-gemma3", {});
  expect_second_turns_to_be_exact("tiny-mistral", {.type = "q8"});
}

TEST(SessionOnEncodedRows, starts_over_where_the_row_was_encoded_since) {
  expect_second_turns_to_be_exact("tiny-llama", {.type = "q4", .quant_start = 50});
  expect_second_turns_to_be_exact("tiny-llama", {.type = "q8", .keep_first = 2, .keep_last = 8});
}

TEST_F(SessionTest, another_prompt_gives_other_hashes) {  // the control of the comparisons above
  ASSERT_OK_AND_ASSIGN(const GenerateResult a, cold(request_for(encode("A dog"))));
  ASSERT_OK_AND_ASSIGN(const GenerateResult b, cold(request_for(encode("A cat"))));
  EXPECT_NE(a.logit_hashes, b.logit_hashes);
}

TEST_F(SessionTest, sessions_of_one_engine_do_not_disturb_each_other) {
  Session a(*engine_), b(*engine_);
  const GenerateRequest one = request_for(encode("One day, a girl"));
  const GenerateRequest two = request_for(encode("In the forest lived"));
  ASSERT_OK_AND_ASSIGN(const GenerateResult expected_one, cold(one));
  ASSERT_OK_AND_ASSIGN(const GenerateResult expected_two, cold(two));
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_OK_AND_ASSIGN(const GenerateResult result_one, a.generate(one));
    ASSERT_OK_AND_ASSIGN(const GenerateResult result_two, b.generate(two));
    expect_same(result_one, expected_one);
    expect_same(result_two, expected_two);
  }
}

TEST_F(SessionTest, a_session_returns_its_memory) {
  const size_t before = engine_->kv().live_bytes();
  {
    Session session(*engine_);
    ASSERT_OK(session.generate(request_for(encode("A dog"))));
    EXPECT_GT(engine_->kv().live_bytes(), before);
  }
  EXPECT_EQ(engine_->kv().live_bytes(), before);
}

TEST_F(SessionTest, no_new_tokens_are_made_when_none_are_asked_for) {
  ASSERT_OK_AND_ASSIGN(const GenerateResult result, cold(request_for(encode("A dog"), 0)));
  EXPECT_THAT(result.ids, SizeIs(0));
  EXPECT_EQ(result.text, "");
  EXPECT_EQ(result.finish_reason, FinishReason::kLength);
  EXPECT_EQ(result.prompt_tokens, static_cast<int64_t>(encode("A dog").size()));
}

TEST_F(SessionTest, requests_that_cannot_run_are_refused_and_leave_the_row_usable) {
  Session session(*engine_);
  const GenerateRequest good = request_for(encode("A dog lived"));
  ASSERT_OK_AND_ASSIGN(const GenerateResult expected, cold(good));
  ASSERT_OK(session.generate(good));
  const auto vocabulary = static_cast<TokenId>(engine_->model().config().vocab);

  EXPECT_ERROR(session.generate(request_for({})), kInvalidArgument, "prompt: is empty");
  EXPECT_ERROR(session.generate(request_for({1}, -1)), kInvalidArgument, "max_new_tokens");
  EXPECT_ERROR(session.generate(request_for({1, vocabulary})), kInvalidArgument, "token 4096");
  EXPECT_ERROR(session.generate(request_for({-1})), kInvalidArgument, "token -1");
  const auto too_long = session.generate(request_for(std::vector<TokenId>(257, 5)));
  EXPECT_ERROR(too_long, kInvalidArgument, "257");
  EXPECT_ERROR(too_long, kInvalidArgument, "256");
  GenerateRequest bad = good;
  bad.sampling.top_p = 2;
  EXPECT_ERROR(session.generate(bad), kInvalidArgument, "top_p");
  bad = good;
  bad.stop = {""};
  EXPECT_ERROR(session.generate(bad), kInvalidArgument, "stop");

  ASSERT_OK_AND_ASSIGN(const GenerateResult after, session.generate(good));
  expect_same(after, expected);
}

TEST_F(SessionTest, a_prompt_that_fills_the_context_still_gets_one_token) {
  ASSERT_OK_AND_ASSIGN(const GenerateResult result, cold(request_for(std::vector<TokenId>(256, 41), 50)));
  EXPECT_THAT(result.ids, SizeIs(1));
  EXPECT_EQ(result.finish_reason, FinishReason::kLength);
}

TEST_F(SessionTest, generation_ends_with_length_when_the_context_is_full) {
  // 250 tokens of prompt leave room for 6 computed ones, and the last of the 7 is sampled only.
  ASSERT_OK_AND_ASSIGN(const GenerateResult result, cold(request_for(std::vector<TokenId>(250, 41), 50)));
  EXPECT_THAT(result.ids, SizeIs(7));
  EXPECT_EQ(result.finish_reason, FinishReason::kLength);
}

TEST_F(SessionTest, an_end_token_ends_the_text_unless_it_is_ignored) {
  ASSERT_FALSE(engine_->end_tokens().empty());
  const TokenId end = engine_->end_tokens().front();
  GenerateRequest request = request_for(encode("A dog"), 5);
  request.sampling.logit_bias = {{.token = end, .bias = 1000}};
  request.ignore_end_tokens = false;
  ASSERT_OK_AND_ASSIGN(const GenerateResult ended, cold(request));
  EXPECT_THAT(ended.ids, testing::ElementsAre(end));
  EXPECT_EQ(ended.text, "");
  EXPECT_EQ(ended.finish_reason, FinishReason::kStop);
  request.ignore_end_tokens = true;
  ASSERT_OK_AND_ASSIGN(const GenerateResult ignored, cold(request));
  EXPECT_EQ(ignored.ids, std::vector<TokenId>(5, end));
  EXPECT_EQ(ignored.finish_reason, FinishReason::kLength);
}

TEST_F(SessionTest, every_end_token_of_the_engine_ends_the_text) {
  for (const TokenId end : engine_->end_tokens()) {
    GenerateRequest request = request_for(encode("A dog"), 5);
    request.sampling.logit_bias = {{.token = end, .bias = 1000}};
    request.ignore_end_tokens = false;
    ASSERT_OK_AND_ASSIGN(const GenerateResult result, cold(request));
    EXPECT_EQ(result.finish_reason, FinishReason::kStop) << end;
  }
}

TEST_F(SessionTest, a_stop_string_cuts_the_text_wherever_tokens_end) {
  const GenerateRequest free = request_for(encode("One day, a small boy named Tom found a"), 30);
  ASSERT_OK_AND_ASSIGN(const GenerateResult whole, cold(free));
  ASSERT_GT(whole.text.size(), 40U);
  // Stop strings that begin and end inside of words and so lie across tokens.
  for (size_t begin = 3; begin < 35; begin += 4) {
    for (const size_t length : {size_t{2}, size_t{9}}) {
      GenerateRequest request = free;
      request.stop = {"never in this text", whole.text.substr(begin, length)};
      std::string streamed;
      Session session(*engine_);
      ASSERT_OK_AND_ASSIGN(
          const GenerateResult result,
          session.generate(request, {.on_text = [&](std::string_view text) { streamed += text; }}));
      EXPECT_EQ(result.text, whole.text.substr(0, whole.text.find(request.stop[1]))) << request.stop[1];
      EXPECT_EQ(result.finish_reason, FinishReason::kStop);
      EXPECT_EQ(streamed, result.text);
      EXPECT_LT(result.ids.size(), whole.ids.size());
    }
  }
}

TEST_F(SessionTest, streamed_pieces_are_the_text) {
  const GenerateRequest request = request_for(encode("One day, a small boy"), 40);
  std::string streamed;
  Session session(*engine_);
  ASSERT_OK_AND_ASSIGN(
      const GenerateResult result,
      session.generate(request, {.on_text = [&](std::string_view text) { streamed += text; }}));
  EXPECT_EQ(streamed, result.text);
  EXPECT_FALSE(streamed.empty());
}

TEST_F(SessionTest, the_first_word_of_a_continuation_keeps_its_space) {
  const GenerateRequest request = request_for(encode("One day, a small boy named Tom found a"), 8);
  ASSERT_OK_AND_ASSIGN(const GenerateResult result, cold(request));
  EXPECT_EQ(result.text.front(), ' ') << result.text;
}

TEST_F(SessionTest, prefill_reports_every_chunk) {
  std::vector<int64_t> done;
  GenerateRequest request = request_for(std::vector<TokenId>(40, 41), 1);
  Session session(*engine_);
  ASSERT_OK(session.generate(request, {.on_prefill = [&](int64_t at, int64_t total) {
                               EXPECT_EQ(total, 40);
                               done.push_back(at);
                             }}));
  EXPECT_THAT(done, testing::ElementsAre(16, 32, 40));
}

TEST_F(SessionTest, cancelling_at_any_point_leaves_the_session_usable) {
  const GenerateRequest request =
      request_for(std::vector<TokenId>(encode("The dog ran and ran and ran and ran and "
                                              "ran and ran and ran and ran and ran.")),
                  8);
  ASSERT_GT(request.prompt.size(), 16U);  // more than one chunk
  ASSERT_OK_AND_ASSIGN(const GenerateResult expected, cold(request));
  Session session(*engine_);
  for (int point = 0; point < 9; ++point) {
    int asked = 0;
    ASSERT_OK_AND_ASSIGN(const GenerateResult cut,
                         session.generate(request, {.is_cancelled = [&] { return asked++ == point; }}));
    EXPECT_EQ(cut.finish_reason, FinishReason::kCancelled) << point;
    EXPECT_LT(cut.ids.size(), expected.ids.size());
    // Asked before each chunk of 16 of the prompt, then before each token.
    EXPECT_EQ(cut.computed_tokens, std::min<int64_t>(16 * point, cut.prompt_tokens - cut.reused_tokens));
    EXPECT_THAT(cut.ids, ElementsAreArray(expected.ids.begin(),
                                          expected.ids.begin() + static_cast<ptrdiff_t>(cut.ids.size())));
    EXPECT_TRUE(expected.text.starts_with(cut.text));
    ASSERT_OK_AND_ASSIGN(const GenerateResult after, session.generate(request));
    expect_same(after, expected);
    // So that the next round starts from an unrelated row.
    ASSERT_OK(session.generate(request_for({5, 6, 7}, 1)));
  }
}

TEST_F(SessionTest, logprobs_are_finite_sorted_and_sum_to_at_most_one) {
  GenerateRequest request = request_for(encode("One day"), 10);
  request.sampling.temperature = 1;
  request.sampling.top_logprobs = 5;
  ASSERT_OK_AND_ASSIGN(const GenerateResult result, cold(request));
  ASSERT_EQ(result.logprobs.size(), result.ids.size());
  for (size_t i = 0; i < result.ids.size(); ++i) {
    const TokenLogprobs& at = result.logprobs[i];
    EXPECT_EQ(at.token, result.ids[i]);
    EXPECT_TRUE(std::isfinite(at.logprob) && at.logprob <= 0);
    ASSERT_THAT(at.top, SizeIs(5));
    double sum = 0;
    for (size_t j = 0; j < at.top.size(); ++j) {
      sum += std::exp(double{at.top[j].logprob});
      if (j > 0) {
        EXPECT_LE(at.top[j].logprob, at.top[j - 1].logprob);
      }
      if (at.top[j].token == at.token) {
        EXPECT_EQ(at.top[j].logprob, at.logprob);
      }
    }
    EXPECT_LE(sum, 1.0 + 1e-5);
  }
}

TEST_F(SessionTest, a_seed_can_be_repeated_and_another_one_gives_another_text) {
  GenerateRequest request = request_for(encode("One day"), 24);
  request.sampling.temperature = 1;
  std::set<std::vector<TokenId>> texts;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    request.sampling.seed = seed;
    ASSERT_OK_AND_ASSIGN(const GenerateResult first, cold(request));
    ASSERT_OK_AND_ASSIGN(const GenerateResult second, cold(request));
    EXPECT_EQ(first.ids, second.ids);
    texts.insert(first.ids);
  }
  EXPECT_THAT(texts, SizeIs(4));
}

// A random draw belongs to a position, so a warm row must draw what a cold one does; and penalties count the
// tokens of a prompt whose state was reused (llama.cpp once did not: the prompt's sampler history was
// skipped).
TEST_F(SessionTest, penalties_see_the_whole_history_of_a_reused_prompt) {
  GenerateRequest request = request_for(encode("The cat sat. The cat sat. The cat sat. The cat"), 24);
  request.sampling.temperature = 0.9F;
  request.sampling.seed = 11;
  request.sampling.repeat_penalty = 1.5F;
  request.sampling.presence_penalty = 1.0F;
  request.sampling.repeat_last_n = kWholeHistory;
  ASSERT_OK_AND_ASSIGN(const GenerateResult expected, cold(request));
  Session session(*engine_);
  ASSERT_OK(session.generate(request_for(request.prompt, 4)));
  ASSERT_OK_AND_ASSIGN(const GenerateResult result, session.generate(request));
  EXPECT_EQ(result.reused_tokens, static_cast<int64_t>(request.prompt.size()) - 1);
  expect_same(result, expected);
  // The control: without penalties the same draw gives another text.
  request.sampling.repeat_penalty = 1;
  request.sampling.presence_penalty = 0;
  ASSERT_OK_AND_ASSIGN(const GenerateResult free, cold(request));
  EXPECT_NE(free.ids, expected.ids);
}

TEST(Session_without_tokenizer, gives_ids_only_and_refuses_stop_strings) {
  EngineOptions options{.threads = 1};
  options.model_path = kvern::test::test_data("transformers/llama2-mha");
  ASSERT_OK_AND_ASSIGN(const auto engine, test::open_bundled(options));
  ASSERT_EQ(engine->tokenizer(), nullptr);
  Session session(*engine);
  GenerateRequest request = request_for({1, 2, 3}, 4);
  ASSERT_OK_AND_ASSIGN(const GenerateResult result, session.generate(request));
  EXPECT_THAT(result.ids, SizeIs(4));
  EXPECT_EQ(result.text, "");
  request.stop = {"x"};
  EXPECT_ERROR(session.generate(request), kInvalidArgument, "stop strings need a tokenizer");
}

}  // namespace
}  // namespace kvern::engine
