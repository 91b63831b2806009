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
