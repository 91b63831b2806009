#include "model/config/gemma_from_hf.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/support/hf_config.h"
#include "support/result_matchers.h"

namespace kvern::model {
namespace {

using test::HfConfig;
using testing::ElementsAre;

HfConfig gemma2() { return HfConfig("Gemma2ForCausalLM", "gemma2"); }
HfConfig gemma3() { return HfConfig("Gemma3ForCausalLM", "gemma3_text"); }
HfConfig gemma3n() { return HfConfig("Gemma3nForCausalLM", "gemma3n_text").set("num_kv_shared_layers", "0"); }

constexpr float kDense = -std::numeric_limits<float>::infinity();

TEST(GemmaFromHf, gemma2_fills_in_what_its_class_assumes) {
  ASSERT_OK_AND_ASSIGN(const ModelConfig c, gemma2().read());
  EXPECT_EQ(c.attention_softcap, 50.0F);
  EXPECT_EQ(c.logit_softcap, 30.0F);
  EXPECT_EQ(c.attention_scale, 1.0F / 16.0F);
  EXPECT_EQ(c.window->tokens, 4096);
  EXPECT_THAT(c.window->layers, ElementsAre(true, false, true, false));
  EXPECT_TRUE(c.post_norms && c.tied);
  EXPECT_EQ(c.norm_weight_offset, 1.0F);
  EXPECT_EQ(c.rope.theta, 1e4);
  EXPECT_FALSE(c.qk_norm || c.local_rope);
}

TEST(GemmaFromHf, null_says_that_there_is_no_cap) {
  ASSERT_OK_AND_ASSIGN(
      const ModelConfig c,
      gemma2().set("attn_logit_softcapping", "null").set("final_logit_softcapping", "null").read());
  EXPECT_EQ(c.attention_softcap, 0.0F);
  EXPECT_EQ(c.logit_softcap, 0.0F);
  EXPECT_ERROR(gemma2().set("attn_logit_softcapping", "-1.0").read(), kCorrupt, "soft cap is -1");
  EXPECT_ERROR(gemma2().set("query_pre_attn_scalar", "0").read(), kCorrupt, "key 'query_pre_attn_scalar'");
  EXPECT_FLOAT_EQ(gemma2().set("query_pre_attn_scalar", "144").read()->attention_scale, 1.0F / 12.0F);
}

TEST(GemmaFromHf, gemma3_reads_patterns_and_ropes_in_each_spelling_alike) {
  const ModelConfig by_number = gemma3()
                                    .set("sliding_window", "64")
                                    .set("sliding_window_pattern", "3")
                                    .set("rope_theta", "2e6")
                                    .set("rope_local_base_freq", "5e3")
                                    .set("rope_scaling", R"({"rope_type":"linear","factor":8.0})")
                                    .read()
                                    .value();
  EXPECT_THAT(by_number.window->layers, ElementsAre(true, true, false, true));
  EXPECT_EQ(by_number.rope.theta, 2e6);
  EXPECT_EQ(by_number.rope.factor, 8.0);
  EXPECT_EQ(by_number.local_rope->theta, 5e3);
  EXPECT_EQ(by_number.local_rope->scaling, compute::RopeScaling::kNone);
  EXPECT_TRUE(by_number.qk_norm && by_number.post_norms);
  EXPECT_EQ(by_number.attention_softcap, 0.0F);
  const ModelConfig nested =
      gemma3()
          .set("sliding_window", "64")
          .set("layer_types",
               R"(["sliding_attention","sliding_attention","full_attention","sliding_attention"])")
          .set("rope_parameters", R"({"full_attention":{"rope_type":"linear","factor":8.0,"rope_theta":2e6},)"
                                  R"("sliding_attention":{"rope_type":"default","rope_theta":5e3}})")
          .read()
          .value();
  EXPECT_EQ(config_facts(nested), config_facts(by_number));
}

TEST(GemmaFromHf, gemma3_fills_in_what_its_class_assumes) {
  ASSERT_OK_AND_ASSIGN(const ModelConfig c, gemma3().set("num_hidden_layers", "7").read());
  EXPECT_THAT(c.window->layers, ElementsAre(true, true, true, true, true, false, true));
  EXPECT_EQ(c.window->tokens, 4096);
  EXPECT_EQ(c.rope.theta, 1e6);
  EXPECT_EQ(c.local_rope->theta, 1e4);
}

TEST(GemmaFromHf, gemma3_refuses_ropes_that_it_cannot_tell_apart) {
  EXPECT_ERROR(gemma3().set("rope_parameters", R"({"rope_type":"default","rope_theta":1e6})").read(),
               kUnsupported, "key 'rope_parameters': must hold");
  EXPECT_ERROR(
      gemma3().set("rope_parameters", R"({"sliding_attention":{"rope_type":"linear","factor":2.0}})").read(),
      kUnsupported, "'rope_parameters.sliding_attention.rope_type'");
  EXPECT_ERROR(gemma3()
                   .set("rope_local_base_freq", "1e3")
                   .set("rope_parameters", R"({"sliding_attention":{"rope_theta":1e4}})")
                   .read(),
               kCorrupt, "'rope_parameters.sliding_attention.rope_theta'");
  EXPECT_ERROR(gemma3().set("rope_local_base_freq", "-1.0").read(), kCorrupt, "rope base is -1");
  EXPECT_ERROR(gemma3().set("sliding_window_pattern", "0").read(), kCorrupt, "key 'sliding_window_pattern'");
  EXPECT_ERROR(gemma3().set("use_bidirectional_attention", "true").read(), kUnsupported,
               "key 'use_bidirectional_attention'");
}

TEST(GemmaFromHf, gemma3n_reads_its_parts) {
  ASSERT_OK_AND_ASSIGN(const ModelConfig c,
                       gemma3n()
                           .set("layer_types", R"(["sliding_attention","full_attention",)"
                                               R"("sliding_attention","full_attention"])")
                           .set("num_kv_shared_layers", "2")
                           .set("intermediate_size", "[96,96,96,96]")
                           .set("activation_sparsity_pattern", "[0.95,0.5,0.0,0.0]")
                           .set("altup_num_inputs", "3")
                           .set("altup_active_idx", "1")
                           .set("laurel_rank", "8")
                           .set("hidden_size_per_layer_input", "16")
                           .set("vocab_size_per_layer_input", "200")
                           .set("altup_correct_scale", "false")
                           .read());
  EXPECT_EQ(c.ffn, 96);
  EXPECT_EQ(c.attention_scale, 1.0F);
  EXPECT_EQ(c.norm_weight_offset, 0.0F);
  EXPECT_EQ(c.window->tokens, 512);
  EXPECT_EQ(kv_owner(c, 2), 0);
  EXPECT_EQ(kv_owner(c, 3), 1);
  ASSERT_TRUE(c.gemma3n);
  EXPECT_EQ(c.gemma3n->streams, 3);
  EXPECT_EQ(c.gemma3n->active_stream, 1);
  EXPECT_EQ(c.gemma3n->laurel_rank, 8);
  EXPECT_EQ(c.gemma3n->layer_embedding, 16);
  EXPECT_EQ(c.gemma3n->layer_vocab, 200);
  EXPECT_FALSE(c.gemma3n->scale_corrected);
  EXPECT_THAT(c.gemma3n->gate_cutoffs,
              ElementsAre(1.6448536F, testing::FloatNear(0.0F, 1e-12F), kDense, kDense));
}

TEST(GemmaFromHf, gemma3n_names_what_cannot_be) {
  EXPECT_ERROR(gemma3n().set("activation_sparsity_pattern", "[1.0,0.0,0.0,0.0]").read(), kCorrupt,
               "key 'activation_sparsity_pattern': holds 1");
  EXPECT_ERROR(gemma3n().set("activation_sparsity_pattern", "[0.5]").read(), kCorrupt,
               "1 activation sparsities for 4 layers");
  EXPECT_ERROR(gemma3n().set("intermediate_size", "[96,96,96,128]").read(), kUnsupported,
               "key 'intermediate_size': differs between layers");
  EXPECT_ERROR(gemma3n().set("intermediate_size", "[96]").read(), kCorrupt, "has 1 values for 4 layers");
  EXPECT_ERROR(gemma3n().set("num_kv_shared_layers", "4").read(), kCorrupt, "4 of 4 layers share");
  EXPECT_ERROR(gemma3n().set("altup_num_inputs", "1").read(), kCorrupt, "the number of AltUp inputs is 1");
}

TEST(GemmaFromHf, keys_of_these_families_are_refused_elsewhere) {
  EXPECT_TRUE(is_gemma_key(Family::kGemma2, "final_logit_softcapping"));
  EXPECT_FALSE(is_gemma_key(Family::kGemma, "final_logit_softcapping"));
  EXPECT_TRUE(is_gemma_key(Family::kGemma3, "attn_logit_softcapping"));
  EXPECT_ERROR(gemma3n().set("attn_logit_softcapping", "50.0").read(), kUnsupported,
               "key 'attn_logit_softcapping'");
  EXPECT_ERROR(HfConfig("GemmaForCausalLM", "gemma").set("final_logit_softcapping", "30.0").read(),
               kUnsupported, "key 'final_logit_softcapping'");
}

}  // namespace
}  // namespace kvern::model
