// Many requests through the public header, against the same requests alone.
#include "kvern/engine.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "support/result_matchers.h"
#include "support/shared_data.h"
#include "support/temporary_directory.h"

namespace kvern {
namespace {

std::string bundled() { return test::source_file("models/kvern-tiny-8m-q8_0.gguf"); }

constexpr GenerateOptions greedy(int64_t count) { return {.max_new_tokens = count, .temperature = 0}; }

Engine load(EngineOptions options = {}) {
  options.model.path = bundled();
  options.model.threads = 2;
  return std::move(Engine::load(options)).value();
}

/// What a model gives that runs nothing else.
Generation alone(const std::string& prompt, const GenerateOptions& options) {
  auto model = LanguageModel::load({.path = bundled(), .threads = 1});
  return std::move(model->generate(prompt, options)).value();
}

Completion complete(Engine& engine, const Request& request) {
  auto reply = engine.submit(request);
  EXPECT_OK(reply);
  return std::move(reply->wait()).value();
}

TEST(Engine, streams_what_the_model_gives_alone) {
  Engine engine = load();
  const Generation expected = alone("One day, a small boy", greedy(16));
  ASSERT_OK_AND_ASSIGN(Reply reply, engine.submit({.prompt = "One day, a small boy", .options = greedy(16)}));
  std::string text;
  std::vector<int32_t> ids;
  std::vector<EventKind> kinds;
  for (;;) {
    ASSERT_OK_AND_ASSIGN(const std::optional<Event> event, reply.next());
    if (!event) break;
    text += event->text;
    if (event->kind == EventKind::kToken) ids.push_back(event->token);
    if (kinds.empty() || kinds.back() != event->kind) kinds.push_back(event->kind);
  }
  EXPECT_EQ(text, expected.text);
  EXPECT_EQ(ids, expected.ids);
  EXPECT_EQ(kinds,
            (std::vector{EventKind::kPrompt, EventKind::kToken, EventKind::kChoiceEnd, EventKind::kEnd}));
}

TEST(Engine, gives_each_of_many_threads_what_it_gets_alone) {
  Engine engine = load({.max_rows = 5});
  const std::vector<std::string> prompts = {"One day, a small boy", "The cat", "Once upon a time there was a",
                                            "She said"};
  std::vector<Generation> expected;
  for (const std::string& prompt : prompts) expected.push_back(alone(prompt, greedy(12)));
  std::atomic<int> equal = 0;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < prompts.size(); ++i) {
        const size_t which = (t + i) % prompts.size();
        auto reply = engine.submit({.prompt = prompts[which],
                                    .options = greedy(12),
                                    .client = std::to_string(t),
                                    .name_space = std::to_string(i % 2)});
        const auto all = reply ? reply->wait() : Result<Completion>(std::unexpected(reply.error()));
        if (all && all->choices[0].ids == expected[which].ids && all->choices[0].text == expected[which].text)
          ++equal;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 16);
}

TEST(Engine, takes_texts_ids_and_conversations) {
  Engine engine = load();
  ASSERT_OK_AND_ASSIGN(const std::vector<int32_t> ids, engine.tokenize("One day"));
  const Completion from_text = complete(engine, {.prompt = "One day", .options = greedy(8)});
  const Completion from_ids = complete(engine, {.ids = ids, .options = greedy(8)});
  EXPECT_EQ(from_text.choices[0].ids, from_ids.choices[0].ids);
  ASSERT_OK_AND_ASSIGN(const std::string text, engine.detokenize(from_ids.choices[0].ids));
  EXPECT_EQ(text, from_ids.choices[0].text);

  const std::vector<ChatMessage> talk = {{"user", "What is your name?"}};
  auto model = LanguageModel::load({.path = bundled(), .threads = 1});
  ASSERT_OK_AND_ASSIGN(const Generation expected, model->chat(talk, greedy(12)));
  EXPECT_EQ(complete(engine, {.messages = talk, .options = greedy(12)}).choices[0].ids, expected.ids);
}

TEST(Engine, generates_several_choices_of_a_prompt) {
  Engine engine = load();
  const GenerateOptions random{.max_new_tokens = 16, .temperature = 1, .seed = 3};
  const Completion all = complete(engine, {.prompt = "One day", .options = random, .choices = 3});
  ASSERT_EQ(all.choices.size(), 3U);
  EXPECT_EQ(all.choices[0].ids, alone("One day", random).ids);
  EXPECT_NE(all.choices[1].ids, all.choices[0].ids);
  EXPECT_NE(all.choices[2].ids, all.choices[1].ids);
  int64_t generated = 0;
  for (const Generation& choice : all.choices) generated += static_cast<int64_t>(choice.ids.size());
  EXPECT_EQ(all.usage.generated_tokens, generated);
}

TEST(Engine, keeps_beginnings_within_a_name_space) {
  Engine engine = load();
  const Request request{
      .prompt = "One day, a small boy went to the", .options = greedy(4), .name_space = "a"};
  const Completion cold = complete(engine, request);
  EXPECT_EQ(cold.usage.cached_tokens, 0);
  const Completion warm = complete(engine, request);
  EXPECT_EQ(warm.usage.cached_tokens, warm.usage.prompt_tokens - 1);
  EXPECT_EQ(warm.choices[0].reused_tokens, warm.usage.cached_tokens);
  EXPECT_EQ(warm.choices[0].ids, cold.choices[0].ids);
  Request other = request;
  other.name_space = "b";
  EXPECT_EQ(complete(engine, other).usage.cached_tokens, 0);
  Request without = request;
  without.reuse_prefix = false;
  EXPECT_EQ(complete(engine, without).usage.cached_tokens, 0);

  Engine nothing = load({.prefix_bytes = 0});
  complete(nothing, request);
  EXPECT_EQ(complete(nothing, request).usage.cached_tokens, 0);
}

TEST(Engine, gives_log_probabilities) {
  Engine engine = load();
  ASSERT_OK_AND_ASSIGN(Reply reply,
                       engine.submit({.prompt = "One day", .options = greedy(4), .top_logprobs = 3}));
  int tokens = 0;
  for (;;) {
    ASSERT_OK_AND_ASSIGN(const std::optional<Event> event, reply.next());
    if (!event) break;
    if (event->kind != EventKind::kToken) continue;
    ++tokens;
    ASSERT_EQ(event->top.size(), 3U);
    EXPECT_EQ(event->top[0].token, event->token) << "the choice is greedy";
    EXPECT_EQ(event->top[0].logprob, event->logprob);
    EXPECT_GE(event->top[0].logprob, event->top[1].logprob);
  }
  EXPECT_EQ(tokens, 4);
}

TEST(Engine, follows_schemas_and_grammars) {
  Engine engine = load();
  const Completion number = complete(
      engine,
      {.prompt = "One day", .options = greedy(8), .choices = 2, .json_schema = R"({"enum": [12, 34]})"});
  for (const Generation& choice : number.choices) {
    EXPECT_TRUE(choice.text == "12" || choice.text == "34") << choice.text;
    EXPECT_EQ(choice.finish_reason, "stop");
  }
  const Completion word =
      complete(engine, {.prompt = "One day", .options = greedy(8), .grammar = "root ::= \"yes\" | \"no\""});
  EXPECT_TRUE(word.choices[0].text == "yes" || word.choices[0].text == "no") << word.choices[0].text;
}

TEST(Engine, penalties_act) {
  Engine engine = load();
  GenerateOptions never_again = greedy(40);
  never_again.presence_penalty = 100;
  const Completion all = complete(engine, {.prompt = "One day", .options = never_again});
  std::vector<int32_t> ids = all.choices[0].ids;
  std::ranges::sort(ids);
  EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());
}

// Goes on until the context is full.
Request endless() {
  return {.prompt = "One day",
          .options = {.max_new_tokens = 100'000, .temperature = 0, .ignore_end_tokens = true}};
}

TEST(Engine, a_cancelled_reply_ends_with_what_it_has) {
  Engine engine = load();
  ASSERT_OK_AND_ASSIGN(Reply reply, engine.submit(endless()));
  for (int i = 0; i < 3; ++i) ASSERT_OK(reply.next());
  std::thread other([&] { reply.cancel(); });
  ASSERT_OK_AND_ASSIGN(const Completion rest, reply.wait());
  other.join();
  EXPECT_EQ(rest.choices[0].finish_reason, "cancelled");
  EXPECT_TRUE(reply.ready());
}

TEST(Engine, a_reply_that_is_dropped_gives_its_place_to_others) {
  Engine engine = load({.max_rows = 1});
  {
    ASSERT_OK_AND_ASSIGN(Reply reply, engine.submit(endless()));
    ASSERT_OK(reply.next());
  }
  ASSERT_OK_AND_ASSIGN(Reply replaced, engine.submit(endless()));
  ASSERT_OK_AND_ASSIGN(replaced, engine.submit({.prompt = "The cat", .options = greedy(4)}));
  ASSERT_OK_AND_ASSIGN(const Completion all, replaced.wait());
  EXPECT_EQ(all.choices[0].ids.size(), 4U);
}

TEST(Engine, a_reply_outlives_its_engine) {
  auto engine = std::make_unique<Engine>(load());
  ASSERT_OK_AND_ASSIGN(Reply reply, engine->submit(endless()));
  ASSERT_OK(reply.next());
  Engine moved = std::move(*engine);
  engine.reset();
  ASSERT_OK(moved.tokenize("still here"));
  {
    const Engine gone = std::move(moved);
  }
  ASSERT_OK_AND_ASSIGN(const Completion rest, reply.wait());
  EXPECT_EQ(rest.choices[0].finish_reason, "cancelled");
  reply.cancel();
}

TEST(Engine, says_what_is_wrong_with_a_request) {
  Engine engine = load();
  EXPECT_ERROR(engine.submit({}), kInvalidArgument, "exactly one");
  EXPECT_ERROR(engine.submit({.prompt = "a", .ids = {1}}), kInvalidArgument, "exactly one");
  EXPECT_ERROR(engine.submit({.ids = {-1}}), kInvalidArgument, "vocabulary");
  EXPECT_ERROR(engine.submit({.ids = std::vector<int32_t>(100'000, 5)}), kInvalidArgument, "100000");
  EXPECT_ERROR(engine.submit({.prompt = "a", .options = {.temperature = -1}}), kInvalidArgument,
               "temperature");
  EXPECT_ERROR(engine.submit({.prompt = "a", .choices = 0}), kInvalidArgument, "choices");
  EXPECT_ERROR(engine.submit({.prompt = "a", .timeout = std::chrono::milliseconds(-1)}), kInvalidArgument,
               "timeout");
  EXPECT_ERROR(engine.submit({.prompt = "a", .json_schema = "{}", .grammar = "root ::= \"a\""}),
               kInvalidArgument, "at most one");
  EXPECT_ERROR(engine.submit({.prompt = "a", .grammar = "root ::= ("}), kInvalidArgument, "grammar");
  EXPECT_ERROR(engine.submit({.prompt = "a", .json_schema = "{"}), kInvalidArgument, "json_schema");
  EXPECT_EQ(complete(engine, {.prompt = "One day", .options = greedy(3)}).choices[0].ids.size(), 3U);
}

TEST(Engine, runs_models_without_a_tokenizer_by_ids) {
  ASSERT_OK_AND_ASSIGN(Engine bare,
                       Engine::load({.model = {.path = test::test_data("transformers/llama2-mha")}}));
  EXPECT_ERROR(bare.submit({.prompt = "text"}), kInvalidArgument, "no tokenizer");
  EXPECT_ERROR(bare.submit({.messages = {{"user", "text"}}}), kInvalidArgument, "");
  EXPECT_ERROR(bare.submit({.ids = {1, 2}, .grammar = "root ::= \"a\""}), kInvalidArgument, "tokenizer");
  EXPECT_ERROR(bare.tokenize("text"), kInvalidArgument, "no tokenizer");
  EXPECT_ERROR(bare.detokenize({1}), kInvalidArgument, "no tokenizer");
  EXPECT_FALSE(complete(bare, {.ids = {1, 2, 3}, .options = greedy(4)}).choices[0].ids.empty());
}

TEST(Engine, takes_up_what_another_one_has_saved) {
  const test::TemporaryDirectory folder;
  const std::string text = "One day, a small boy named Tom found a red ball in the park and took it home. ";
  const auto run = [&] {
    auto engine = Engine::load({.model = {.path = bundled(), .kv_dir = folder.file("kv")}});
    EXPECT_OK(engine);
    return complete(*engine, {.prompt = text + text, .options = greedy(8)});
  };
  const Completion first = run();
  const Completion second = run();
  EXPECT_EQ(first.usage.cached_tokens, 0);
  EXPECT_EQ(second.usage.cached_tokens, second.usage.prompt_tokens - 1);
  EXPECT_EQ(first.choices[0].ids, second.choices[0].ids);
}

TEST(Engine, says_what_is_wrong_with_its_options) {
  EXPECT_ERROR(Engine::load({.model = {.path = "no-such-model.gguf"}}), kNotFound, "no-such-model.gguf");
  EXPECT_ERROR(Engine::load({.model = {.path = bundled()}, .max_rows = 0}), kInvalidArgument, "max_rows");
  EXPECT_ERROR(Engine::load({.model = {.path = bundled()}, .max_waiting = -1}), kInvalidArgument,
               "max_waiting");
  EXPECT_ERROR(Engine::load({.model = {.path = bundled(), .kv_type = "q9"}}), kInvalidArgument, "q9");
}

TEST(Engine, refuses_what_cannot_fit_and_what_is_one_too_many) {
  Engine small = load({.kv_bytes = 1 << 20});
  EXPECT_ERROR(small.submit({.prompt = "a", .options = greedy(100'000)}), kExhausted, "MiB");
  Engine engine = load({.max_rows = 1, .max_waiting = 1});
  std::vector<Reply> replies;
  std::optional<Error> refused;
  for (int i = 0; i < 10 && !refused; ++i) {
    auto reply = engine.submit(endless());
    if (reply) {
      replies.push_back(*std::move(reply));
    } else {
      refused = reply.error();
    }
  }
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->code, ErrorCode::kExhausted);
  EXPECT_TRUE(refused->retryable);
}

TEST(Engine, a_request_that_takes_too_long_fails) {
  Engine engine = load();
  Request request = endless();
  request.timeout = std::chrono::milliseconds(1);
  ASSERT_OK_AND_ASSIGN(Reply reply, engine.submit(request));
  EXPECT_ERROR(reply.wait(), kExhausted, "");
  EXPECT_ERROR(reply.next(), kExhausted, "");
}

TEST(Engine, counts_what_it_does) {
  Engine engine = load({.kv_bytes = 64 << 20});
  EXPECT_EQ(engine.stats().kv_budget_bytes, 64U << 20);
  EXPECT_GT(engine.context_tokens(), 0);
  const Completion all = complete(engine, {.prompt = "One day", .options = greedy(5)});
  while (engine.stats().running > 0 || engine.stats().requests_ended == 0) std::this_thread::yield();
  const EngineStats stats = engine.stats();
  EXPECT_EQ(stats.requests_ended, 1U);
  EXPECT_EQ(stats.prompt_tokens, static_cast<uint64_t>(all.usage.prompt_tokens));
  EXPECT_EQ(stats.generated_tokens, 5U);
  EXPECT_EQ(stats.kept_prefixes, 1);
  EXPECT_GT(stats.kv_live_bytes, 0U);
  EXPECT_TRUE(stats.healthy);
}

}  // namespace
}  // namespace kvern
