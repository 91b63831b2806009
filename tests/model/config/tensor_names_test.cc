#include "model/config/tensor_names.h"

#include <gtest/gtest.h>

namespace kvern::model {
namespace {

TEST(TensorNames, follow_their_source) {
  EXPECT_EQ(module_name(SourceKind::kGguf, Module::kTokenEmbedding), "token_embd");
  EXPECT_EQ(module_name(SourceKind::kGguf, Module::kAttnQ, 3), "blk.3.attn_q");
  EXPECT_EQ(module_name(SourceKind::kGguf, Module::kFfnGateUp, 11), "blk.11.ffn_up");
  EXPECT_EQ(module_name(SourceKind::kHuggingFace, Module::kOutput), "lm_head");
  EXPECT_EQ(module_name(SourceKind::kHuggingFace, Module::kOutputNorm), "model.norm");
  EXPECT_EQ(module_name(SourceKind::kHuggingFace, Module::kAttnQkv, 0), "model.layers.0.self_attn.qkv_proj");
  EXPECT_EQ(module_name(SourceKind::kHuggingFace, Module::kFfnDown, 7), "model.layers.7.mlp.down_proj");
}

TEST(TensorNames, of_norms_depend_on_how_many_a_layer_has) {
  EXPECT_EQ(module_name(SourceKind::kHuggingFace, Module::kFfnNorm, 1),
            "model.layers.1.post_attention_layernorm");
  EXPECT_EQ(module_name(SourceKind::kHuggingFace, Module::kPostAttnNorm, 1),
            "model.layers.1.post_attention_layernorm");
  EXPECT_EQ(module_name(SourceKind::kHuggingFace, Module::kPreFfnNorm, 1),
            "model.layers.1.pre_feedforward_layernorm");
  EXPECT_EQ(module_name(SourceKind::kGguf, Module::kPreFfnNorm, 1), "blk.1.ffn_norm");
  EXPECT_EQ(module_name(SourceKind::kGguf, Module::kPostFfnNorm, 1), "blk.1.post_ffw_norm");
  EXPECT_EQ(module_name(SourceKind::kGguf, Module::kLaurelNorm, 1), "blk.1.laurel_post_norm");
  EXPECT_EQ(module_name(SourceKind::kGguf, Module::kAltUpUnembedding), "altup_unembd_proj");
  EXPECT_EQ(correction_scale_part(SourceKind::kHuggingFace), "correct_output_scale");
}

TEST(TensorNames, let_layers_that_share_keep_weights_that_nobody_reads) {
  ModelConfig config;
  config.source = SourceKind::kHuggingFace;
  config.layers = 12;
  config.shared_kv_layers = 2;
  EXPECT_TRUE(is_redundant_tensor("model.layers.10.self_attn.k_proj.weight", config));
  EXPECT_TRUE(is_redundant_tensor("model.layers.11.self_attn.k_norm.weight", config));
  EXPECT_FALSE(is_redundant_tensor("model.layers.9.self_attn.k_proj.weight", config));
  EXPECT_FALSE(is_redundant_tensor("model.layers.12.self_attn.k_proj.weight", config));
  EXPECT_FALSE(is_redundant_tensor("model.layers.10.self_attn.q_proj.weight", config));
  EXPECT_FALSE(is_redundant_tensor("model.layers.x.self_attn.k_proj.weight", config));
  config.source = SourceKind::kGguf;
  EXPECT_TRUE(is_redundant_tensor("blk.10.attn_v.weight", config));
}

TEST(TensorNames, know_what_may_be_left_over) {
  ModelConfig hf;
  hf.source = SourceKind::kHuggingFace;
  EXPECT_TRUE(is_redundant_tensor("model.layers.0.self_attn.rotary_emb.inv_freq", hf));
  EXPECT_FALSE(is_redundant_tensor("lm_head.weight", hf));
  hf.tied = true;
  EXPECT_TRUE(is_redundant_tensor("lm_head.weight", hf));
  EXPECT_FALSE(is_redundant_tensor("model.layers.0.mlp.up_proj.bias", hf));
  ModelConfig gguf;
  gguf.source = SourceKind::kGguf;
  EXPECT_TRUE(is_redundant_tensor("rope_freqs.weight", gguf));
  EXPECT_FALSE(is_redundant_tensor("output.weight", gguf));
}

}  // namespace
}  // namespace kvern::model
