#include "model/config/config_from_hf.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "model/support/file_bytes.h"
#include "model/support/hf_config.h"
#include "support/result_matchers.h"

namespace kvern::model {
namespace {

using test::HfConfig;
using testing::ElementsAre;

TEST(ConfigFromHf, takes_sizes_and_says_where_they_came_from) {
  ASSERT_OK_AND_ASSIGN(const ModelConfig c, HfConfig().read());
  EXPECT_EQ(c.family, Family::kLlama);
  EXPECT_EQ(c.source, SourceKind::kHuggingFace);
  EXPECT_EQ(c.layers, 4);
  EXPECT_EQ(c.hidden, 64);
  EXPECT_EQ(c.ffn, 96);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.head_dim_k, 16);
  EXPECT_EQ(c.head_dim_v, 16);
  EXPECT_EQ(c.vocab, 256);
  EXPECT_EQ(c.context, 512);
  EXPECT_EQ(c.norm_eps, 1e-5);
  EXPECT_FLOAT_EQ(c.attention_scale, 0.25F);
  EXPECT_EQ(c.activation, Activation::kSilu);
  EXPECT_FALSE(c.tied);
  EXPECT_FALSE(c.window);
  EXPECT_EQ(c.origins.at("head_dim_k"), "head_dim");
  EXPECT_EQ(c.origins.at("rope.theta"), "default");
}

TEST(ConfigFromHf, fills_in_what_the_classes_of_transformers_assume) {
  ASSERT_OK_AND_ASSIGN(
      const ModelConfig c,
      HfConfig().erase("num_key_value_heads").erase("head_dim").erase("rms_norm_eps").read());
  EXPECT_EQ(c.kv_heads, 4);
  EXPECT_EQ(c.head_dim_k, 16);
  EXPECT_EQ(c.norm_eps, 1e-6);
  EXPECT_EQ(c.origins.at("kv_heads"), "default");
  EXPECT_EQ(HfConfig("Qwen3ForCausalLM", "qwen3").erase("head_dim").read()->head_dim_k, 128);
  EXPECT_EQ(HfConfig("Phi3ForCausalLM", "phi3").erase("rms_norm_eps").read()->norm_eps, 1e-5);
}

TEST(ConfigFromHf, knows_what_each_family_always_does) {
  ASSERT_OK_AND_ASSIGN(const ModelConfig qwen2, HfConfig("Qwen2ForCausalLM", "qwen2").read());
  EXPECT_TRUE(qwen2.qkv_bias);
  EXPECT_FALSE(qwen2.attention_output_bias);
  ASSERT_OK_AND_ASSIGN(const ModelConfig qwen3, HfConfig("Qwen3ForCausalLM", "qwen3").read());
  EXPECT_TRUE(qwen3.qk_norm);
  EXPECT_FALSE(qwen3.qkv_bias);
  ASSERT_OK_AND_ASSIGN(const ModelConfig gemma,
                       HfConfig("GemmaForCausalLM", "gemma").set("hidden_act", "\"gelu\"").read());
  EXPECT_EQ(gemma.activation, Activation::kGeluTanh);
  EXPECT_EQ(gemma.norm_weight_offset, 1.0F);
  EXPECT_EQ(gemma.embedding_scale, 8.0F);
  EXPECT_TRUE(gemma.tied);
  ASSERT_OK_AND_ASSIGN(const ModelConfig llama,
                       HfConfig().set("attention_bias", "true").set("mlp_bias", "true").read());
  EXPECT_TRUE(llama.qkv_bias && llama.attention_output_bias && llama.mlp_bias);
}

TEST(ConfigFromHf, joins_end_tokens_of_both_files) {
  HfConfig config;
  config.set("eos_token_id", "1");
  EXPECT_THAT(config.read()->end_tokens, ElementsAre(1));
  EXPECT_THAT(config.read(R"({"eos_token_id":[106,1]})")->end_tokens, ElementsAre(1, 106));
  EXPECT_ERROR(config.read(R"({"eos_token_id":256})"), kCorrupt,
               "end-of-sequence id 256 is outside the vocabulary");
  EXPECT_ERROR(config.read("[]"), kCorrupt, "generation_config.json: not a JSON object");
}

TEST(ConfigFromHf, finds_the_architecture_by_either_key_and_names_contradictions) {
  EXPECT_EQ(HfConfig("MistralForCausalLM", "mistral").erase("architectures").read()->family,
            Family::kMistral);
  EXPECT_EQ(HfConfig("MistralForCausalLM", "mistral").erase("model_type").read()->family, Family::kMistral);
  EXPECT_ERROR(HfConfig("LlamaForCausalLM", "mistral").read(), kCorrupt,
               "key 'model_type': is 'mistral', which contradicts");
  EXPECT_ERROR(HfConfig("MixtralForCausalLM", "mixtral").read(), kUnsupported,
               "'MixtralForCausalLM' is not supported; kvern runs LlamaForCausalLM, Mistral");
  EXPECT_ERROR(HfConfig().erase("architectures").erase("model_type").read(), kCorrupt, "key 'architectures'");
}

TEST(ConfigFromHf, reads_a_window_in_each_spelling_alike) {
  HfConfig mistral("MistralForCausalLM", "mistral");
  mistral.set("sliding_window", "64");
  const ModelConfig by_number = mistral.read().value();
  const ModelConfig by_list =
      mistral
          .set("layer_types",
               R"(["sliding_attention","sliding_attention","sliding_attention","sliding_attention"])")
          .read()
          .value();
  for (const ModelConfig& c : {by_number, by_list}) {
    ASSERT_TRUE(c.window);
    EXPECT_EQ(c.window->tokens, 64);
    EXPECT_THAT(c.window->layers, ElementsAre(true, true, true, true));
  }
  EXPECT_EQ(config_facts(by_number), config_facts(by_list));
}

TEST(ConfigFromHf, lets_qwen_start_its_window_at_a_layer) {
  HfConfig qwen("Qwen2ForCausalLM", "qwen2");
  qwen.set("sliding_window", "64").set("max_window_layers", "3");
  EXPECT_FALSE(qwen.read()->window);  // use_sliding_window is false unless it is set
  const ModelConfig by_number = qwen.set("use_sliding_window", "true").read().value();
  ASSERT_TRUE(by_number.window);
  EXPECT_THAT(by_number.window->layers, ElementsAre(false, false, false, true));
  const ModelConfig by_list =
      qwen.set("layer_types", R"(["full_attention","full_attention","full_attention","sliding_attention"])")
          .read()
          .value();
  EXPECT_EQ(config_facts(by_number), config_facts(by_list));
  EXPECT_FALSE(qwen.erase("layer_types").set("max_window_layers", "4").read()->window);
}

TEST(ConfigFromHf, keeps_a_window_whatever_the_context_and_tells_absent_from_null) {
  HfConfig mistral("MistralForCausalLM", "mistral");
  EXPECT_EQ(mistral.read()->window->tokens, 4096);  // what the class assumes
  EXPECT_EQ(mistral.set("sliding_window", "512").read()->window->tokens, 512);
  EXPECT_FALSE(mistral.set("sliding_window", "null").read()->window);
  EXPECT_FALSE(HfConfig().read()->window);
}

struct Fault {
  const char* name;
  const char* key;
  const char* value;
  ErrorCode code;
  const char* message;
};

class HostileHfConfig : public testing::TestWithParam<Fault> {};

TEST_P(HostileHfConfig, gives_an_error_that_names_the_key) {
  HfConfig config;
  config.set(GetParam().key, GetParam().value);
  const auto read = config.read();
  EXPECT_TRUE(kvern::test::is_error(read, GetParam().code, GetParam().message));
  EXPECT_EQ(read.error().where, "config.json");
}

INSTANTIATE_TEST_SUITE_P(
    Keys, HostileHfConfig,
    testing::Values(
        Fault{"layers_0", "num_hidden_layers", "0", ErrorCode::kCorrupt,
              "layers is 0, from num_hidden_layers"},
        Fault{"layers_huge", "num_hidden_layers", "9223372036854775807", ErrorCode::kCorrupt,
              "layers is 9223372036854775807"},
        Fault{"layers_null", "num_hidden_layers", "null", ErrorCode::kCorrupt,
              "key 'num_hidden_layers': is missing"},
        Fault{"hidden_negative", "hidden_size", "-64", ErrorCode::kCorrupt, "hidden is -64"},
        Fault{"hidden_text", "hidden_size", "\"64\"", ErrorCode::kCorrupt,
              "key 'hidden_size': must be an integer"},
        Fault{"heads_0", "num_attention_heads", "0", ErrorCode::kCorrupt, "heads is 0"},
        Fault{"kv_heads_0", "num_key_value_heads", "0", ErrorCode::kCorrupt, "kv_heads is 0"},
        Fault{"kv_heads_3", "num_key_value_heads", "3", ErrorCode::kCorrupt,
              "4 attention heads cannot share 3"},
        Fault{"head_dim_0", "head_dim", "0", ErrorCode::kCorrupt, "key 'head_dim': is 0"},
        Fault{"head_dim_odd", "head_dim", "15", ErrorCode::kCorrupt, "rotates 15 dimensions"},
        Fault{"eps_0", "rms_norm_eps", "0", ErrorCode::kCorrupt, "epsilon of the norms is 0"},
        Fault{"theta_negative", "rope_theta", "-1.0", ErrorCode::kCorrupt, "rope base is -1"},
        Fault{"activation", "hidden_act", "\"relu\"", ErrorCode::kUnsupported, "key 'hidden_act': 'relu'"},
        Fault{"softcap", "final_logit_softcapping", "30.0", ErrorCode::kUnsupported,
              "key 'final_logit_softcapping': is"},
        Fault{"experts", "num_local_experts", "8", ErrorCode::kUnsupported, "key 'num_local_experts'"},
        Fault{"window_0", "sliding_window", "0", ErrorCode::kCorrupt, "key 'sliding_window': is 0"},
        Fault{"window_pattern", "sliding_window_pattern", "6", ErrorCode::kUnsupported,
              "key 'sliding_window_pattern'"},
        Fault{"layer_types_short", "layer_types", "[\"full_attention\"]", ErrorCode::kCorrupt,
              "key 'layer_types': has 1 entries for 4 layers"},
        Fault{"layer_types_text", "layer_types", "\"LLLG\"", ErrorCode::kCorrupt,
              "key 'layer_types': must be a list"},
        Fault{"layer_types_unknown", "layer_types", "[\"x\",\"x\",\"x\",\"x\"]", ErrorCode::kUnsupported,
              "key 'layer_types': 'x'"},
        Fault{"layer_types_without_window", "layer_types",
              "[\"full_attention\",\"full_attention\",\"full_attention\",\"sliding_attention\"]",
              ErrorCode::kCorrupt, "no 'sliding_window' is set"},
        Fault{"architectures_text", "architectures", "\"LlamaForCausalLM\"", ErrorCode::kCorrupt,
              "key 'architectures': must be a list"}),
    [](const testing::TestParamInfo<Fault>& info) { return std::string(info.param.name); });

TEST(ConfigFromHf, refuses_two_spellings_that_disagree) {
  EXPECT_OK(HfConfig().set("torch_dtype", "\"float16\"").set("dtype", "\"float16\"").read());
  EXPECT_ERROR(HfConfig().set("torch_dtype", "\"float16\"").set("dtype", "\"bfloat16\"").read(), kCorrupt,
               "key 'dtype'");
  EXPECT_ERROR(HfConfig("Phi3ForCausalLM", "phi3").set("attention_bias", "true").read(), kUnsupported,
               "key 'attention_bias'");
  EXPECT_ERROR(HfConfig("GemmaForCausalLM", "gemma").set("hidden_activation", "\"gelu\"").read(),
               kUnsupported, "key 'hidden_activation'");
}

TEST(ReadHfConfigFiles, names_the_file_that_is_missing_or_broken) {
  const auto files = make_memory_files();
  test::put_file(*files, "m/other", "x");
  EXPECT_ERROR(read_hf_config_files(*files, "m"), kNotFound, "m: is a folder without a config.json");
  test::put_file(*files, "m/config.json", "{");
  EXPECT_ERROR(read_hf_config_files(*files, "m"), kCorrupt, "m/config.json");
  test::put_file(*files, "m/config.json", "{}");
  test::put_file(*files, "m/generation_config.json", "{\"a\"");
  EXPECT_ERROR(read_hf_config_files(*files, "m"), kCorrupt, "m/generation_config.json");
}

}  // namespace
}  // namespace kvern::model
