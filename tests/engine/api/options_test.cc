#include "engine/api/options.h"

#include <gtest/gtest.h>

namespace kvern::engine {
namespace {

TEST(Options, every_member_of_the_public_ones_arrives) {
  const GenerateRequest request = generate_request({.max_new_tokens = 1,
                                                    .temperature = 2,
                                                    .top_k = 3,
                                                    .top_p = 0.4F,
                                                    .min_p = 0.5F,
                                                    .repeat_penalty = 6,
                                                    .presence_penalty = 7,
                                                    .frequency_penalty = 8,
                                                    .seed = 9,
                                                    .stop = {"ten"},
                                                    .ignore_end_tokens = true});
  EXPECT_EQ(request.max_new_tokens, 1);
  EXPECT_EQ(request.sampling.temperature, 2);
  EXPECT_EQ(request.sampling.top_k, 3);
  EXPECT_EQ(request.sampling.top_p, 0.4F);
  EXPECT_EQ(request.sampling.min_p, 0.5F);
  EXPECT_EQ(request.sampling.repeat_penalty, 6);
  EXPECT_EQ(request.sampling.presence_penalty, 7);
  EXPECT_EQ(request.sampling.frequency_penalty, 8);
  EXPECT_EQ(request.sampling.seed, 9U);
  EXPECT_TRUE(request.ignore_end_tokens);
  EXPECT_EQ(request.stop, std::vector<std::string>{"ten"});

  const EngineOptions engine =
      engine_options({.path = "p", .threads = 3, .context_tokens = 4, .kv_type = "q8", .cpu_target = "avx2"});
  EXPECT_EQ(engine.model_path, "p");
  EXPECT_EQ(engine.threads, 3);
  EXPECT_EQ(engine.context_tokens, 4);
  EXPECT_EQ(engine.kv.type, "q8");
  EXPECT_EQ(engine.cpu_target, "avx2");
}

// The defaults are the sampler's.
TEST(Options, defaults_are_those_of_the_engine) {
  const GenerateRequest made = generate_request({});
  const GenerateRequest expected;
  EXPECT_EQ(made.max_new_tokens, expected.max_new_tokens);
  EXPECT_EQ(made.sampling.temperature, expected.sampling.temperature);
  EXPECT_EQ(made.sampling.top_k, expected.sampling.top_k);
  EXPECT_EQ(made.sampling.top_p, expected.sampling.top_p);
  EXPECT_EQ(made.sampling.min_p, expected.sampling.min_p);
  EXPECT_EQ(made.sampling.repeat_penalty, expected.sampling.repeat_penalty);
  EXPECT_EQ(made.sampling.presence_penalty, expected.sampling.presence_penalty);
  EXPECT_EQ(made.sampling.frequency_penalty, expected.sampling.frequency_penalty);
  EXPECT_EQ(made.sampling.seed, expected.sampling.seed);
  EXPECT_EQ(made.ignore_end_tokens, expected.ignore_end_tokens);
}

}  // namespace
}  // namespace kvern::engine
