#include "model/config/model_config.h"

#include <functional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "model/support/hf_config.h"
#include "support/result_matchers.h"

namespace kvern::model {
namespace {

TEST(ModelConfig, facts_change_with_everything_that_changes_the_computation) {
  const ModelConfig base = test::HfConfig().read().value();
  const std::function<void(ModelConfig&)> changes[] = {
      [](ModelConfig& c) { c.family = Family::kMistral; },
      [](ModelConfig& c) { c.layers = 5; },
      [](ModelConfig& c) { c.head_dim_v = 8; },
      [](ModelConfig& c) { c.norm_eps = 1e-6; },
      [](ModelConfig& c) { c.attention_scale = 0.5F; },
      [](ModelConfig& c) { c.activation = Activation::kGeluTanh; },
      [](ModelConfig& c) { c.qk_norm = true; },
      [](ModelConfig& c) { c.mlp_bias = true; },
      [](ModelConfig& c) { c.rope.theta = 5e5; },
      [](ModelConfig& c) { c.rope.pairing = compute::RopePairing::kInterleaved; },
      [](ModelConfig& c) { c.rope.scaling = compute::RopeScaling::kLinear; },
      [](ModelConfig& c) { c.rope.freq_factors = {1.0F, 2.0F}; },
      [](ModelConfig& c) { c.rope.attention_factor = 1.0; },
      [](ModelConfig& c) { c.window = SlidingWindow{8, {true, true, true, true}}; },
      [](ModelConfig& c) { c.window = SlidingWindow{8, {true, true, true, false}}; },
      [](ModelConfig& c) { c.window = SlidingWindow{9, {true, true, true, true}}; },
      [](ModelConfig& c) { c.quantization = AffineQuantization{}; },
      [](ModelConfig& c) { c.attention_softcap = 50.0F; },
      [](ModelConfig& c) { c.logit_softcap = 50.0F; },
      [](ModelConfig& c) { c.v_norm = true; },
      [](ModelConfig& c) { c.post_norms = true; },
      [](ModelConfig& c) { c.local_rope = c.rope; },
      [](ModelConfig& c) {
        c.local_rope = c.rope;
        c.local_rope->theta = 5e5;
      },
      [](ModelConfig& c) { c.shared_kv_layers = 1; },
      [](ModelConfig& c) { c.gemma3n = Gemma3nConfig{}; },
  };
  std::set<std::string> seen = {config_facts(base)};
  for (const auto& change : changes) {
    ModelConfig changed = base;
    change(changed);
    EXPECT_TRUE(seen.insert(config_facts(changed)).second) << config_facts(changed);
  }
}

TEST(ModelConfig, facts_leave_out_what_a_user_may_choose) {
  const ModelConfig base = test::HfConfig().read().value();
  ModelConfig other = base;
  other.context = 17;
  other.rope.context = 17;
  other.end_tokens = {1};
  other.name = "x";
  other.origins.clear();
  EXPECT_EQ(config_facts(other), config_facts(base));
}

TEST(ModelConfig, checks_name_the_field) {
  ModelConfig config = test::HfConfig().read().value();
  EXPECT_OK(check_config(config, "c"));
  config.window = SlidingWindow{0, {}};
  EXPECT_ERROR(check_config(config, "c"), kCorrupt, "c: the sliding window is 0 tokens");
  config.window.reset();
  config.ffn = int64_t{1} << 40;
  EXPECT_ERROR(check_config(config, "c"), kCorrupt,
               "ffn is 1099511627776, from intermediate_size; it must lie between 1 and");
}

TEST(ModelConfig, names_families) {
  EXPECT_EQ(to_string(Family::kQwen3), "qwen3");
  EXPECT_EQ(to_string(Family::kGemma), "gemma");
  EXPECT_EQ(to_string(Family::kGemma3n), "gemma3n");
  EXPECT_TRUE(is_gemma(Family::kGemma) && is_gemma(Family::kGemma2));
  EXPECT_FALSE(is_later_gemma(Family::kGemma) || is_gemma(Family::kPhi3));
}

}  // namespace
}  // namespace kvern::model
