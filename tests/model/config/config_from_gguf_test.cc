#include "model/config/config_from_gguf.h"

#include <cmath>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "model/support/tiny_gguf.h"
#include "support/result_matchers.h"

namespace kvern::model {
namespace {

using compute::RopeScaling;
using test::TinyGguf;

Result<ModelConfig> read(const TinyGguf& model) {
  const auto files = make_memory_files();
  KVERN_TRY_STATUS(model.write(*files, "m.gguf"));
  KVERN_TRY(const auto file, GgufFile::open(*files, "m.gguf"));
  return config_from_gguf(*file);
}

TEST(ConfigFromGguf, takes_sizes_and_defaults_and_says_where_they_came_from) {
  ASSERT_OK_AND_ASSIGN(const ModelConfig c, read(TinyGguf()));
  EXPECT_EQ(c.family, Family::kLlama);
  EXPECT_EQ(c.source, SourceKind::kGguf);
  EXPECT_EQ(c.layers, 1);
  EXPECT_EQ(c.hidden, 64);
  EXPECT_EQ(c.ffn, 96);
  EXPECT_EQ(c.heads, 4);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.head_dim_k, 16);
  EXPECT_EQ(c.head_dim_v, 16);
  EXPECT_EQ(c.vocab, 32);
  EXPECT_EQ(c.context, 128);
  EXPECT_FLOAT_EQ(c.attention_scale, 0.25F);
  EXPECT_TRUE(c.tied);
  EXPECT_FALSE(c.qkv_bias || c.attention_output_bias || c.mlp_bias || c.qk_norm);
  EXPECT_EQ(c.rope.pairing, compute::RopePairing::kInterleaved);
  EXPECT_EQ(c.rope.rotary_dims, 16);
  EXPECT_EQ(c.rope.scaling, RopeScaling::kNone);
  EXPECT_EQ(c.origins.at("kv_heads"), "llama.attention.head_count_kv");
  EXPECT_EQ(c.origins.at("head_dim_k"), "default");
}

TEST(ConfigFromGguf, takes_optional_parts_from_the_tensors) {
  TinyGguf model;
  model.tensors["output.weight"] = {{32, 64}};
  model.tensors["blk.0.attn_q.bias"] = {{64}};
  model.tensors["blk.0.attn_output.bias"] = {{64}};
  model.tensors["blk.0.ffn_up.bias"] = {{96}};
  model.tensors["blk.0.attn_q_norm.weight"] = {{16}};
  ASSERT_OK_AND_ASSIGN(const ModelConfig c, read(model));
  EXPECT_FALSE(c.tied);
  EXPECT_TRUE(c.qkv_bias && c.attention_output_bias && c.mlp_bias && c.qk_norm);
}

TEST(ConfigFromGguf, knows_the_families) {
  for (const auto& [name, family] :
       {std::pair("qwen2", Family::kQwen2), std::pair("qwen3", Family::kQwen3),
        std::pair("phi3", Family::kPhi3), std::pair("gemma", Family::kGemma),
        std::pair("gemma2", Family::kGemma2), std::pair("gemma3", Family::kGemma3)}) {
    ASSERT_OK_AND_ASSIGN(const ModelConfig c, read(TinyGguf(name)));
    EXPECT_EQ(c.family, family);
    EXPECT_EQ(c.rope.pairing, compute::RopePairing::kHalfSplit);
    EXPECT_EQ(c.activation, is_gemma(family) ? Activation::kGeluTanh : Activation::kSilu);
    EXPECT_EQ(c.embedding_scale, is_gemma(family) ? 8.0F : 1.0F);
    EXPECT_EQ(c.norm_weight_offset, 0.0F);
  }
  EXPECT_ERROR(read(TinyGguf("mamba")), kUnsupported,
               "'general.architecture' is 'mamba'; kvern runs llama, qwen2");
}

TEST(ConfigFromGguf, reads_rope_scalings) {
  TinyGguf linear;
  linear.text("llama.rope.scaling.type", "linear");
  linear.f32("llama.rope.scaling.factor", 4.0F);
  EXPECT_EQ(read(linear)->rope.scaling, RopeScaling::kLinear);
  EXPECT_EQ(read(linear)->rope.factor, 4.0);
  TinyGguf old;
  old.f32("llama.rope.scale_linear", 4.0F);
  EXPECT_EQ(config_facts(*read(old)), config_facts(*read(linear)));
  // llama.cpp: linear where there is no type, and the newer key first; "none" is none.
  old.f32("llama.rope.scaling.factor", 2.0F);
  EXPECT_EQ(read(old)->rope.scaling, RopeScaling::kLinear);
  EXPECT_EQ(read(old)->rope.factor, 2.0);
  old.text("llama.rope.scaling.type", "none");
  EXPECT_EQ(read(old)->rope.scaling, RopeScaling::kNone);
  linear.f32("llama.rope.scaling.attn_factor", 2.0F);
  EXPECT_ERROR(read(linear), kUnsupported, "'llama.rope.scaling.attn_factor' is 2");

  TinyGguf yarn;
  yarn.text("llama.rope.scaling.type", "yarn");
  yarn.f32("llama.rope.scaling.factor", 4.0F);
  yarn.u32("llama.rope.scaling.original_context_length", 32);
  EXPECT_EQ(read(yarn)->rope.scaling, RopeScaling::kYarn);
  EXPECT_EQ(read(yarn)->rope.original_context, 32);
  EXPECT_EQ(read(yarn)->rope.attention_factor, std::nullopt);
  yarn.f32("llama.rope.scaling.attn_factor", 0.5F);
  EXPECT_NEAR(read(yarn)->rope.attention_factor.value(), 0.5 * (0.1 * std::log(4.0) + 1.0), 1e-12);

  TinyGguf unknown;
  unknown.text("llama.rope.scaling.type", "magic");
  EXPECT_ERROR(read(unknown), kUnsupported, "'llama.rope.scaling.type' is 'magic'; kvern knows none, linear");
}

TEST(ConfigFromGguf, takes_rope_divisors_and_long_factors_from_tensors) {
  TinyGguf divided;
  divided.tensors["rope_freqs.weight"] = {{8}, compute::DType::kF32, {1, 1, 1, 1, 2, 4, 8, 8}};
  EXPECT_THAT(read(divided)->rope.freq_factors, testing::ElementsAre(1, 1, 1, 1, 2, 4, 8, 8));
  divided.tensors["rope_freqs.weight"] = {{7}, compute::DType::kF32, {}};
  EXPECT_ERROR(read(divided), kCorrupt, "tensor 'rope_freqs.weight': expected shape [8], found [7]");

  TinyGguf phi("phi3");
  phi.tensors["rope_factors_long.weight"] = {{8}, compute::DType::kF32, {1, 1, 1, 1, 2, 4, 8, 8}};
  EXPECT_ERROR(read(phi), kCorrupt, "tensor 'rope_factors_short.weight' is missing");
  phi.tensors["rope_factors_short.weight"] = {{8}, compute::DType::kF32, {}};
  phi.u32("phi3.rope.scaling.original_context_length", 32);
  phi.f32("phi3.rope.scaling.attn_factor", 1.25F);
  ASSERT_OK_AND_ASSIGN(const ModelConfig c, read(phi));
  EXPECT_EQ(c.rope.scaling, RopeScaling::kLongRope);
  EXPECT_EQ(c.rope.long_factors.back(), 8.0F);
  EXPECT_EQ(c.rope.short_factors.back(), 0.5F);
  EXPECT_EQ(c.rope.original_context, 32);
  EXPECT_EQ(c.rope.attention_factor, 1.25);
}

TEST(ConfigFromGguf, reads_where_a_window_holds) {
  TinyGguf model("phi3");
  model.u32("phi3.block_count", 4);
  model.u32("phi3.attention.sliding_window", 0);
  EXPECT_FALSE(read(model)->window);
  model.u32("phi3.attention.sliding_window", 4096);
  EXPECT_EQ(read(model)->window->tokens, 4096);
  EXPECT_THAT(read(model)->window->layers, testing::ElementsAre(true, true, true, true));
  model.u32("phi3.attention.sliding_window_pattern", 3);
  EXPECT_THAT(read(model)->window->layers, testing::ElementsAre(true, true, false, true));
  model.i32s("phi3.attention.sliding_window_pattern", {0, 1, 1, 0});
  EXPECT_THAT(read(model)->window->layers, testing::ElementsAre(false, true, true, false));
  EXPECT_FALSE(read(model)->local_rope);
  model.f32("phi3.rope.freq_base_swa", 2000.0F);
  EXPECT_EQ(read(model)->local_rope->theta, 2000.0);
  model.i32s("phi3.attention.sliding_window_pattern", {1, 1});
  EXPECT_ERROR(read(model), kCorrupt, "'phi3.attention.sliding_window_pattern' has 2 values for 4 layers");
  model.u32("phi3.attention.sliding_window_pattern", 1);
  EXPECT_FALSE(read(model)->window);
}

struct Fault {
  const char* name;
  std::function<void(TinyGguf&)> damage;
  ErrorCode code;
  const char* message;
};

class HostileGgufConfig : public testing::TestWithParam<Fault> {};

TEST_P(HostileGgufConfig, gives_an_error_that_names_the_key) {
  TinyGguf model;
  GetParam().damage(model);
  const auto config = read(model);
  EXPECT_TRUE(kvern::test::is_error(config, GetParam().code, GetParam().message));
  EXPECT_THAT(config.error().where, testing::StartsWith("m.gguf"));
}

std::function<void(TinyGguf&)> u32(const char* key, uint32_t value) {
  return [=](TinyGguf& m) { m.u32(key, value); };
}

INSTANTIATE_TEST_SUITE_P(
    Keys, HostileGgufConfig,
    testing::Values(
        Fault{"no_architecture", [](TinyGguf& m) { m.entries.erase("general.architecture"); },
              ErrorCode::kNotFound, "'general.architecture' is missing"},
        Fault{"no_layers", [](TinyGguf& m) { m.entries.erase("llama.block_count"); }, ErrorCode::kNotFound,
              "'llama.block_count' is missing"},
        Fault{"layers_0", u32("llama.block_count", 0), ErrorCode::kCorrupt,
              "layers is 0, from llama.block_count"},
        Fault{"layers_max", u32("llama.block_count", 4294967295U), ErrorCode::kCorrupt,
              "layers is 4294967295"},
        Fault{"layers_text", [](TinyGguf& m) { m.text("llama.block_count", "1"); }, ErrorCode::kCorrupt,
              "'llama.block_count' must be an integer"},
        Fault{"heads_0", u32("llama.attention.head_count", 0), ErrorCode::kCorrupt,
              "'llama.attention.head_count' is 0"},
        Fault{"kv_heads_0", u32("llama.attention.head_count_kv", 0), ErrorCode::kCorrupt, "kv_heads is 0"},
        Fault{"kv_heads_3", u32("llama.attention.head_count_kv", 3), ErrorCode::kCorrupt, "cannot share 3"},
        Fault{"head_dim_max", u32("llama.attention.key_length", 4294967295U), ErrorCode::kCorrupt,
              "head_dim_k is 4294967295"},
        Fault{"rope_dims_odd", u32("llama.rope.dimension_count", 7), ErrorCode::kCorrupt,
              "rotates 7 dimensions"},
        Fault{"rope_dims_too_many", u32("llama.rope.dimension_count", 18), ErrorCode::kCorrupt,
              "rotates 18 dimensions"},
        Fault{"vocabulary_contradicts", u32("llama.vocab_size", 33), ErrorCode::kCorrupt,
              "'llama.vocab_size' is 33, but token_embd.weight has 32 rows"},
        Fault{"too_many_tokens",
              [](TinyGguf& m) { m.texts("tokenizer.ggml.tokens", std::vector<std::string>(33, "x")); },
              ErrorCode::kCorrupt, "has 33 tokens"},
        Fault{"end_token_outside", u32("tokenizer.ggml.eos_token_id", 32), ErrorCode::kCorrupt,
              "id 32 is outside the vocabulary of 32"},
        Fault{"no_embedding", [](TinyGguf& m) { m.tensors.erase("token_embd.weight"); }, ErrorCode::kCorrupt,
              "'token_embd.weight'"},
        Fault{"experts", u32("llama.expert_count", 8), ErrorCode::kUnsupported, "'llama.expert_count' is 8"},
        Fault{"softcap", [](TinyGguf& m) { m.f32("llama.attn_logit_softcapping", 50.0F); },
              ErrorCode::kUnsupported, "'llama.attn_logit_softcapping' is 50"},
        Fault{"not_causal", [](TinyGguf& m) { m.flag("llama.attention.causal", false); },
              ErrorCode::kUnsupported, "'llama.attention.causal' is false"},
        Fault{"heads_per_layer_short", [](TinyGguf& m) { m.i32s("llama.attention.head_count_kv", {2, 2}); },
              ErrorCode::kCorrupt, "has 2 values for 1 layers"},
        Fault{"longrope_without_factors", [](TinyGguf& m) { m.text("llama.rope.scaling.type", "longrope"); },
              ErrorCode::kCorrupt, "'rope_factors_long.weight'"},
        Fault{"linear_without_factor", [](TinyGguf& m) { m.text("llama.rope.scaling.type", "linear"); },
              ErrorCode::kNotFound, "'llama.rope.scaling.factor' is missing"},
        Fault{"eps_nan", [](TinyGguf& m) { m.f32("llama.attention.layer_norm_rms_epsilon", std::nanf("")); },
              ErrorCode::kCorrupt, "epsilon of the norms is nan"},
        Fault{"theta_0", [](TinyGguf& m) { m.f32("llama.rope.freq_base", 0.0F); }, ErrorCode::kCorrupt,
              "rope base is 0"}),
    [](const testing::TestParamInfo<Fault>& info) { return std::string(info.param.name); });

TEST(ConfigFromGguf, accepts_per_layer_lists_that_are_uniform) {
  TinyGguf model;
  model.i32s("llama.attention.head_count_kv", {2});
  EXPECT_EQ(read(model)->kv_heads, 2);
  model.u32("llama.block_count", 2);
  model.i32s("llama.attention.head_count_kv", {2, 4});
  EXPECT_ERROR(read(model), kUnsupported, "'llama.attention.head_count_kv' differs between layers");
}

}  // namespace
}  // namespace kvern::model
