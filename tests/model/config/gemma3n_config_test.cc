#include "model/config/gemma3n_config.h"

#include <limits>

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::model {
namespace {

// scipy.stats.norm.ppf, rounded to f32.
TEST(GateCutoff, is_the_quantile_of_the_normal_distribution) {
  EXPECT_FLOAT_EQ(gate_cutoff(0.95), 1.6448536F);
  EXPECT_NEAR(gate_cutoff(0.5), 0.0F, 1e-12F);
  EXPECT_FLOAT_EQ(gate_cutoff(0.9), 1.2815516F);
  EXPECT_FLOAT_EQ(gate_cutoff(0.1), -1.2815516F);
  EXPECT_FLOAT_EQ(gate_cutoff(0.999999), 4.753424F);
  EXPECT_EQ(gate_cutoff(0.0), -std::numeric_limits<float>::infinity());
}

TEST(Gemma3nConfig, is_checked_against_the_number_of_layers) {
  Gemma3nConfig config{
      .laurel_rank = 8, .layer_embedding = 8, .layer_vocab = 100, .gate_cutoffs = {0.0F, 1.0F}};
  EXPECT_OK(check_gemma3n(config, 2, "m"));
  EXPECT_ERROR(check_gemma3n(config, 3, "m"), kCorrupt, "m: 2 activation sparsities for 3 layers");
  config.layer_vocab = 0;
  EXPECT_ERROR(check_gemma3n(config, 2, "m"), kCorrupt, "vocabulary of the embeddings per layer is 0");
}

TEST(Gemma3nConfig, facts_tell_everything_apart) {
  const Gemma3nConfig config{
      .laurel_rank = 8, .layer_embedding = 8, .layer_vocab = 100, .gate_cutoffs = {0.0F}};
  Gemma3nConfig other = config;
  other.active_stream = 1;
  EXPECT_NE(gemma3n_facts(other), gemma3n_facts(config));
  other = config;
  other.gate_cutoffs = {1.0F};
  EXPECT_NE(gemma3n_facts(other), gemma3n_facts(config));
}

}  // namespace
}  // namespace kvern::model
