// Requests and receivers for tests of the loop.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "engine/loop/batch.h"
#include "engine/request/generation_service.h"

namespace kvern::engine::test {

/// What one choice got.
struct ChoiceRecord {
  std::vector<TokenId> ids;
  std::string text;
  std::vector<TokenLogprobs> logprobs;
  std::vector<uint64_t> hashes;
  std::optional<FinishReason> reason;
  std::optional<std::string> stop_string;
};

/// Writes down what it gets and checks that the order of calls is what GenerationSink promises.
class RecordingSink : public GenerationSink {
 public:
  void on_prompt(const PromptProgress& progress) override {
    check_open();
    prompts.push_back(progress);
    EXPECT_LE(progress.cached + progress.computed, progress.total);
  }
  void on_token(TokenEvent event) override {
    check_open();
    ChoiceRecord& choice = at(event.choice);
    EXPECT_FALSE(choice.reason.has_value()) << "a token after the end of its choice";
    choice.ids.push_back(event.token);
    choice.text += event.text;
    if (event.logprobs) choice.logprobs.push_back(*event.logprobs);
  }
  void on_choice_end(ChoiceEnd end) override {
    check_open();
    ChoiceRecord& choice = at(end.choice);
    EXPECT_FALSE(choice.reason.has_value()) << "a second end of a choice";
    choice.reason = end.reason;
    choice.text += end.text;
    choice.hashes = end.logit_hashes;
    choice.stop_string = end.stop_string;
  }
  void on_end(const RequestEnd& value) override {
    check_open();
    end = value;
    for (const ChoiceRecord& choice : choices) EXPECT_TRUE(choice.reason.has_value());
  }
  void on_error(const Error& value) override {
    check_open();
    error = value;
  }

  bool over() const { return end.has_value() || error.has_value(); }

  std::vector<PromptProgress> prompts;
  std::vector<ChoiceRecord> choices;
  std::optional<RequestEnd> end;
  std::optional<Error> error;

 private:
  void check_open() const { EXPECT_FALSE(over()) << "an event after the end"; }
  ChoiceRecord& at(int32_t choice) {
    EXPECT_GE(choice, 0);
    if (choices.size() <= static_cast<size_t>(choice)) choices.resize(static_cast<size_t>(choice) + 1);
    return choices[static_cast<size_t>(choice)];
  }
};

/// Throws at its nth token.
class ThrowingSink final : public RecordingSink {
 public:
  explicit ThrowingSink(int token) : left_(token) {}
  void on_token(TokenEvent event) override {
    if (--left_ <= 0) throw std::runtime_error("no more of this");
    RecordingSink::on_token(std::move(event));
  }

 private:
  int left_;
};

/// Greedy, with hashes, no matter what ends a text.
inline ServiceRequest request_for(std::vector<TokenId> prompt, int64_t count = 12) {
  ServiceRequest request;
  request.generate.prompt = std::move(prompt);
  request.generate.max_new_tokens = count;
  request.generate.sampling.temperature = 0;
  request.generate.ignore_end_tokens = true;
  request.generate.hash_logits = true;
  return request;
}

/// `count` tokens that depend on the seed alone.
inline std::vector<TokenId> tokens_of(uint64_t seed, size_t count, int32_t vocabulary = 200) {
  std::mt19937_64 random(seed);
  std::vector<TokenId> tokens(count);
  for (TokenId& token : tokens)
    token = 3 + static_cast<TokenId>(random() % static_cast<uint64_t>(vocabulary));
  return tokens;
}

inline std::shared_ptr<RecordingSink> submit(Batch& batch, ServiceRequest request) {
  auto sink = std::make_shared<RecordingSink>();
  const auto ticket = batch.submit(std::move(request), sink);
  EXPECT_TRUE(ticket.has_value()) << (ticket ? "" : ticket.error().to_string());
  return sink;
}

inline void run_all(Batch& batch) {
  int steps = 0;
  while (!batch.idle()) {
    batch.step();
    ASSERT_LT(++steps, 100'000) << "the batch makes no progress";
  }
}

/// What a request gets alone, with nothing kept.
inline std::shared_ptr<RecordingSink> run_cold(Engine& engine, const ServiceRequest& request) {
  const auto clock = make_system_clock();
  Batch batch(engine, *clock, {});
  ServiceRequest alone = request;
  alone.reuse_prefix = false;
  auto sink = submit(batch, std::move(alone));
  run_all(batch);
  return sink;
}

inline void expect_same(const RecordingSink& got, const RecordingSink& expected) {
  EXPECT_FALSE(got.error.has_value()) << got.error->to_string();
  ASSERT_EQ(got.choices.size(), expected.choices.size());
  for (size_t i = 0; i < got.choices.size(); ++i) {
    const ChoiceRecord& a = got.choices[i];
    const ChoiceRecord& b = expected.choices[i];
    EXPECT_EQ(a.ids, b.ids);
    EXPECT_EQ(a.text, b.text);
    EXPECT_EQ(a.hashes, b.hashes);
    EXPECT_EQ(a.reason, b.reason);
    EXPECT_EQ(a.stop_string, b.stop_string);
    ASSERT_EQ(a.logprobs.size(), b.logprobs.size());
    for (size_t t = 0; t < a.logprobs.size(); ++t) {
      EXPECT_EQ(a.logprobs[t].logprob, b.logprobs[t].logprob);
      EXPECT_EQ(a.logprobs[t].top, b.logprobs[t].top);
    }
  }
  ASSERT_TRUE(got.end && expected.end);
  EXPECT_EQ(got.end->prompt_tokens, expected.end->prompt_tokens);
  EXPECT_EQ(got.end->generated_tokens, expected.end->generated_tokens);
}

}  // namespace kvern::engine::test
