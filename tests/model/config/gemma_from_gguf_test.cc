#include "model/config/gemma_from_gguf.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "model/config/config_from_gguf.h"
#include "model/support/tiny_gguf.h"
#include "support/result_matchers.h"

namespace kvern::model {
namespace {

using test::TinyGguf;
using testing::ElementsAre;

constexpr float kDense = -std::numeric_limits<float>::infinity();

Result<ModelConfig> read(const TinyGguf& model) {
  const auto files = make_memory_files();
  KVERN_TRY_STATUS(model.write(*files, "m.gguf"));
  KVERN_TRY(const auto file, GgufFile::open(*files, "m.gguf"));
  return config_from_gguf(*file);
}

TEST(GemmaFromGguf, gemma2_has_caps_windows_and_norms_also_where_the_file_says_nothing) {
  TinyGguf model("gemma2");
  model.u32("gemma2.block_count", 3);
  ASSERT_OK_AND_ASSIGN(const ModelConfig usual, read(model));
  EXPECT_EQ(usual.attention_softcap, 50.0F);
  EXPECT_EQ(usual.logit_softcap, 30.0F);
  EXPECT_EQ(usual.window->tokens, 4096);
  EXPECT_THAT(usual.window->layers, ElementsAre(true, false, true));
  EXPECT_TRUE(usual.post_norms);
  EXPECT_FALSE(usual.qk_norm || usual.v_norm || usual.local_rope || usual.gemma3n);
  model.f32("gemma2.attn_logit_softcapping", 20.0F);
  model.f32("gemma2.final_logit_softcapping", 10.0F);
  model.u32("gemma2.attention.sliding_window", 64);
  ASSERT_OK_AND_ASSIGN(const ModelConfig said, read(model));
  EXPECT_EQ(said.attention_softcap, 20.0F);
  EXPECT_EQ(said.logit_softcap, 10.0F);
  EXPECT_EQ(said.window->tokens, 64);
  EXPECT_EQ(said.origins.at("attention_softcap"), "gemma2.attn_logit_softcapping");
}

TEST(GemmaFromGguf, gemma3_has_a_rope_for_windows_that_nothing_scales) {
  TinyGguf model("gemma3");
  model.u32("gemma3.block_count", 7);
  EXPECT_FALSE(read(model)->window);
  model.u32("gemma3.attention.sliding_window", 64);
  model.f32("gemma3.rope.freq_base", 1e6F);
  model.text("gemma3.rope.scaling.type", "linear");
  model.f32("gemma3.rope.scaling.factor", 8.0F);
  ASSERT_OK_AND_ASSIGN(const ModelConfig c, read(model));
  EXPECT_THAT(c.window->layers, ElementsAre(true, true, true, true, true, false, true));
  EXPECT_EQ(c.rope.theta, 1e6);
  EXPECT_EQ(c.rope.scaling, compute::RopeScaling::kLinear);
  EXPECT_EQ(c.local_rope->theta, 1e4);
  EXPECT_EQ(c.local_rope->scaling, compute::RopeScaling::kNone);
  EXPECT_EQ(c.local_rope->rotary_dims, 16);
  EXPECT_TRUE(c.qk_norm && c.post_norms);
  EXPECT_EQ(c.attention_softcap, 0.0F);
  EXPECT_EQ(c.logit_softcap, 0.0F);
  model.f32("gemma3.rope.freq_base_swa", 2e4F);
  EXPECT_EQ(read(model)->local_rope->theta, 2e4);
}

TEST(GemmaFromGguf, the_models_of_27b_scale_by_width) {
  TinyGguf model("gemma2");
  model.u32("gemma2.attention.key_length", 32);
  EXPECT_FLOAT_EQ(read(model)->attention_scale, 1.0F / std::sqrt(32.0F));
  model.u32("gemma2.block_count", 46);
  EXPECT_FLOAT_EQ(read(model)->attention_scale, 0.25F);  // hidden 64, 4 heads
  model.f32("gemma2.attention.scale", 0.5F);
  EXPECT_EQ(read(model)->attention_scale, 0.5F);
  TinyGguf gemma3("gemma3");
  gemma3.u32("gemma3.attention.key_length", 32);
  gemma3.u32("gemma3.block_count", 62);
  EXPECT_FLOAT_EQ(read(gemma3)->attention_scale, 0.25F);
}

TinyGguf gemma3n() {
  TinyGguf model("gemma3n");
  model.u32("gemma3n.block_count", 5);
  model.u32("gemma3n.attention.sliding_window", 64);
  model.u32("gemma3n.attention.shared_kv_layers", 2);
  model.i32s("gemma3n.attention.sliding_window_pattern", {1, 0, 1, 1, 0});
  model.tensors["per_layer_token_embd.weight"] = {{32, 5 * 8}};
  model.tensors["blk.0.laurel_l.weight"] = {{16, 64}};
  model.u32("gemma3n.embedding_length_per_layer_input", 8);
  return model;
}

TEST(GemmaFromGguf, gemma3n_shares_keys_and_values_of_the_last_layer_of_each_kind) {
  ASSERT_OK_AND_ASSIGN(const ModelConfig c, read(gemma3n()));
  EXPECT_EQ(kv_layers(c), 3);
  for (int64_t layer = 0; layer < 3; ++layer) EXPECT_EQ(kv_owner(c, layer), layer);
  EXPECT_EQ(kv_owner(c, 3), 2);
  EXPECT_EQ(kv_owner(c, 4), 1);
  EXPECT_EQ(c.attention_scale, 1.0F);
  EXPECT_EQ(c.logit_softcap, 30.0F);
  EXPECT_TRUE(c.qk_norm && c.v_norm && c.post_norms);
  ASSERT_TRUE(c.gemma3n);
  EXPECT_EQ(c.gemma3n->streams, 4);
  EXPECT_EQ(c.gemma3n->active_stream, 0);
  EXPECT_EQ(c.gemma3n->laurel_rank, 16);
  EXPECT_EQ(c.gemma3n->layer_embedding, 8);
  EXPECT_EQ(c.gemma3n->layer_vocab, 32);
  EXPECT_THAT(c.gemma3n->gate_cutoffs, testing::Each(testing::FloatNear(1.64485F, 1e-5F)));
}

TEST(GemmaFromGguf, gemma3n_reads_its_sparsities) {
  TinyGguf model = gemma3n();
  model.f32s("gemma3n.activation_sparsity_scale", {1.5F, kDense, kDense, 0.0F, -1.0F});
  EXPECT_THAT(read(model)->gemma3n->gate_cutoffs, ElementsAre(1.5F, kDense, kDense, 0.0F, -1.0F));
  model.f32s("gemma3n.activation_sparsity_scale", {1.5F});
  EXPECT_ERROR(read(model), kCorrupt, "has 1 values for 5 layers");
  model.f32s("gemma3n.activation_sparsity_scale", {1.5F, std::nanf(""), 0.0F, 0.0F, 0.0F});
  EXPECT_ERROR(read(model), kCorrupt, "a cutoff of nan");
}

TEST(GemmaFromGguf, refuses_sharing_without_an_owner) {
  TinyGguf model = gemma3n();
  model.i32s("gemma3n.attention.sliding_window_pattern", {1, 1, 1, 1, 0});
  EXPECT_ERROR(read(model), kCorrupt, "layer 4 shares keys and values, but no layer");
  model = gemma3n();
  model.u32("gemma3n.attention.shared_kv_layers", 5);
  EXPECT_ERROR(read(model), kCorrupt, "5 of 5 layers share");
  model = gemma3n();
  model.tensors.erase("blk.0.laurel_l.weight");
  EXPECT_ERROR(read(model), kCorrupt, "'blk.0.laurel_l.weight' is missing");
  model = gemma3n();
  model.u32("gemma3n.altup.active_idx", 4);
  EXPECT_ERROR(read(model), kCorrupt, "the active AltUp input is 4");
}

}  // namespace
}  // namespace kvern::model
