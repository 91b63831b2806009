// Every weight is checked against the configuration before a kernel sees it.
#include "model/weights.h"

#include <functional>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "model/config/config_from_gguf.h"
#include "model/open_model.h"
#include "model/support/file_bytes.h"
#include "model/support/tiny_gguf.h"
#include "support/result_matchers.h"
#include "support/shared_data.h"

namespace kvern::model {
namespace {

using compute::DType;
using test::TinyGguf;

Result<OpenedModel> open(const TinyGguf& model) {
  const auto files = make_memory_files();
  KVERN_TRY_STATUS(model.write(*files, "m.gguf"));
  return open_model(*files, "m.gguf");
}

TEST(Weights, are_views_and_copies_as_the_configuration_says) {
  TinyGguf tiny;
  tiny.tensors["blk.0.ffn_down.weight"] = {{64, 96}, DType::kQ8_0, {}};
  tiny.tensors["blk.0.attn_norm.weight"].values = {2.0F, 3.0F};
  ASSERT_OK_AND_ASSIGN(const OpenedModel model, open(tiny));
  const LayerWeights& layer = model.weights.layers.front();
  EXPECT_EQ(layer.down.type, DType::kQ8_0);
  EXPECT_EQ(layer.down.row_stride_bytes, 96U / 32 * 34);
  EXPECT_EQ(layer.down.data, model.source->find("blk.0.ffn_down.weight")->bytes.data());
  EXPECT_EQ(layer.attn_norm[1], 3.0F);
  EXPECT_TRUE(layer.q_bias.empty());
  const uint64_t f32_matrices = (64 * 64 + 32 * 64 + 32 * 64 + 64 * 64 + 96 * 64 + 96 * 64 + 32 * 64) * 4;
  EXPECT_EQ(model.weights.bytes_per_token, f32_matrices + 64 * 96 / 32 * 34);
}

TEST(Weights, of_fused_matrices_appear_as_their_parts) {
  TinyGguf tiny("phi3");
  for (const char* name : {"attn_q", "attn_k", "attn_v", "ffn_gate"})
    tiny.tensors.erase(std::string("blk.0.") + name + ".weight");
  tiny.tensors["blk.0.attn_qkv.weight"] = {{128, 64}};
  tiny.tensors["blk.0.ffn_up.weight"] = {{192, 64}};
  ASSERT_OK_AND_ASSIGN(const OpenedModel model, open(tiny));
  const LayerWeights& layer = model.weights.layers.front();
  const std::byte* qkv = model.source->find("blk.0.attn_qkv.weight")->bytes.data();
  EXPECT_EQ(layer.q.data, qkv);
  EXPECT_EQ(layer.k.data, qkv + 64 * 64 * 4);
  EXPECT_EQ(layer.v.data, qkv + 96 * 64 * 4);
  EXPECT_EQ(layer.v.rows, 32);
  EXPECT_EQ(layer.up.data, layer.gate.data + 96 * 64 * 4);
}

struct Fault {
  const char* name;
  std::function<void(TinyGguf&)> damage;
  ErrorCode code;
  const char* message;
};

class WrongWeights : public testing::TestWithParam<Fault> {};

TEST_P(WrongWeights, are_errors_that_name_file_and_tensor) {
  TinyGguf model;
  GetParam().damage(model);
  EXPECT_TRUE(kvern::test::is_error(open(model), GetParam().code, GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Tensors, WrongWeights,
    testing::Values(
        Fault{"missing", [](TinyGguf& m) { m.tensors.erase("blk.0.ffn_up.weight"); }, ErrorCode::kNotFound,
              "m.gguf: tensor 'blk.0.ffn_up.weight' is missing"},
        Fault{"transposed", [](TinyGguf& m) { m.tensors["blk.0.ffn_up.weight"] = {{64, 96}}; },
              ErrorCode::kCorrupt,
              "m.gguf: tensor 'blk.0.ffn_up.weight': expected shape [96, 64], found [64, 96]"},
        Fault{"a_row_short", [](TinyGguf& m) { m.tensors["blk.0.attn_k.weight"] = {{31, 64}}; },
              ErrorCode::kCorrupt, "expected shape [32, 64], found [31, 64]"},
        Fault{"three_dimensions", [](TinyGguf& m) { m.tensors["blk.0.attn_k.weight"] = {{1, 32, 64}}; },
              ErrorCode::kCorrupt, "found [1, 32, 64]"},
        Fault{"norm_too_long", [](TinyGguf& m) { m.tensors["output_norm.weight"] = {{65}}; },
              ErrorCode::kCorrupt, "tensor 'output_norm.weight': expected shape [64], found [65]"},
        Fault{"norm_quantized",
              [](TinyGguf& m) { m.tensors["output_norm.weight"] = {{64}, DType::kQ8_0, {}}; },
              ErrorCode::kCorrupt, "found q8_0"},
        Fault{"one_bias_of_three", [](TinyGguf& m) { m.tensors["blk.0.attn_q.bias"] = {{64}}; },
              ErrorCode::kNotFound, "tensor 'blk.0.attn_k.bias' is missing"},
        Fault{"nobody_asks_for_it", [](TinyGguf& m) { m.tensors["blk.0.attn_rel_b.weight"] = {{4, 32}}; },
              ErrorCode::kCorrupt,
              "tensor 'blk.0.attn_rel_b.weight': shape [4, 32]: a llama model with this configuration has no "
              "use for it"},
        Fault{"a_layer_too_many", [](TinyGguf& m) { m.tensors["blk.1.attn_norm.weight"] = {{64}}; },
              ErrorCode::kCorrupt, "'blk.1.attn_norm.weight'"}),
    [](const testing::TestParamInfo<Fault>& info) { return std::string(info.param.name); });

TEST(Weights, of_gemma_have_one_added_to_norms_from_safetensors_but_not_from_gguf) {
  TinyGguf tiny("gemma");
  tiny.tensors["output_norm.weight"].values = {2.0F};
  EXPECT_EQ(open(tiny)->weights.output_norm[0], 2.0F);

  // The tensors of a Llama with as many key-value heads as heads are those of a Gemma too.
  const auto posix = make_posix_files();
  const auto files = make_memory_files();
  const std::string folder = kvern::test::test_data("transformers/llama2-mha/");
  test::put_file(*files, "m/model.safetensors", test::get_file(*posix, folder + "model.safetensors"));
  std::string config = test::get_file(*posix, folder + "config.json");
  config.replace(config.find("LlamaForCausalLM"), 16, "GemmaForCausalLM");
  config.replace(config.find("\"llama\""), 7, "\"gemma\"");
  config.replace(config.find("silu"), 4, "gelu");
  config.replace(config.find("false"), 5, "true");  // tie_word_embeddings
  config.replace(config.rfind('}'), 1, ",\"head_dim\": 16}");
  test::put_file(*files, "m/config.json", config);
  ASSERT_OK_AND_ASSIGN(const OpenedModel gemma, open_model(*files, "m"));
  ASSERT_OK_AND_ASSIGN(const OpenedModel llama, open_model(*posix, folder));
  EXPECT_EQ(gemma.weights.output_norm[0], llama.weights.output_norm[0] + 1.0F);
  EXPECT_EQ(gemma.weights.layers[1].ffn_norm[63], llama.weights.layers[1].ffn_norm[63] + 1.0F);
}

// A small Gemma 3n of two layers, of which the second one reads the keys and values of the first.
TinyGguf gemma3n() {
  TinyGguf tiny("gemma3n");
  tiny.u32("gemma3n.block_count", 2);
  tiny.u32("gemma3n.attention.shared_kv_layers", 1);
  tiny.u32("gemma3n.embedding_length_per_layer_input", 32);
  tiny.tensors["per_layer_token_embd.weight"] = {{32, 64}};
  tiny.tensors["per_layer_model_proj.weight"] = {{64, 64}};
  tiny.tensors["per_layer_proj_norm.weight"] = {{32}};
  tiny.tensors["altup_proj.weight"] = {{3, 64, 64}};
  tiny.tensors["altup_unembd_proj.weight"] = {{3, 64, 64}};
  const std::map<std::string, std::vector<int64_t>> more = {
      {"attn_q_norm", {16}},         {"attn_k_norm", {16}},
      {"post_attention_norm", {64}}, {"post_ffw_norm", {64}},
      {"inp_gate", {32, 64}},        {"proj", {64, 32}},
      {"post_norm", {64}},           {"altup_correct_coef", {4, 4}},
      {"altup_correct_scale", {64}}, {"altup_predict_coef", {16, 4}},
      {"altup_router", {4, 64}},     {"altup_router_norm", {64}},
      {"laurel_l", {8, 64}},         {"laurel_r", {64, 8}},
      {"laurel_post_norm", {64}}};
  for (const auto& [name, shape] : more) tiny.tensors["blk.0." + name + ".weight"] = {shape};
  const auto first = tiny.tensors;
  for (const auto& [name, tensor] : first)
    if (name.starts_with("blk.0.")) tiny.tensors["blk.1." + name.substr(6)] = tensor;
  return tiny;
}

TEST(Weights, of_gemma3n_are_found_and_those_of_shared_keys_need_not_be_there) {
  TinyGguf tiny = gemma3n();
  ASSERT_OK_AND_ASSIGN(const OpenedModel with, open(tiny));
  ASSERT_TRUE(with.weights.gemma3n);
  const Gemma3nWeights& parts = *with.weights.gemma3n;
  EXPECT_EQ(parts.projections.size(), 3U);
  EXPECT_EQ(parts.projections[2].data, parts.projections[0].data + 2 * 64 * 64 * 4);
  EXPECT_EQ(parts.layers[1].laurel_left.rows, 8);
  EXPECT_EQ(with.weights.layers[0].k.rows, 32);
  EXPECT_EQ(with.weights.layers[1].k.rows, 0);
  EXPECT_TRUE(with.weights.layers[1].k_norm.empty());
  EXPECT_EQ(with.weights.layers[1].attn_post_norm.size(), 64U);
  for (const char* name : {"attn_k", "attn_v", "attn_k_norm"})
    tiny.tensors.erase(std::string("blk.1.") + name + ".weight");
  ASSERT_OK_AND_ASSIGN(const OpenedModel without, open(tiny));
  EXPECT_EQ(without.weights.bytes_per_token, with.weights.bytes_per_token);
}

TEST(Weights, of_gemma3n_are_checked) {
  TinyGguf tiny = gemma3n();
  tiny.tensors["altup_proj.weight"] = {{2, 64, 64}};
  EXPECT_ERROR(open(tiny), kCorrupt,
               "tensor 'altup_proj.weight': expected shape [3, 64, 64], found [2, 64, 64]");
  tiny = gemma3n();
  tiny.tensors.erase("blk.1.laurel_r.weight");
  EXPECT_ERROR(open(tiny), kNotFound, "'blk.1.laurel_r.weight' is missing");
  tiny = gemma3n();
  tiny.tensors.erase("blk.0.attn_k.weight");
  EXPECT_ERROR(open(tiny), kNotFound, "'blk.0.attn_k.weight' is missing");
}

class Mlx : public testing::Test {
 protected:
  void SetUp() override {
    const auto posix = make_posix_files();
    const std::string folder = kvern::test::test_data("transformers/mlx-llama-4bit/");
    for (const char* name : {"config.json", "model.safetensors"})
      test::put_file(*files_, std::string("m/") + name, test::get_file(*posix, folder + name));
  }
  void replace(const std::string& from, const std::string& to) {
    std::string text = test::get_file(*files_, "m/config.json");
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    test::put_file(*files_, "m/config.json", text.replace(at, from.size(), to));
  }
  std::unique_ptr<Files> files_ = make_memory_files();
};

TEST_F(Mlx, triples_become_one_matrix_with_its_own_format) {
  ASSERT_OK_AND_ASSIGN(const OpenedModel model, open_model(*files_, "m"));
  const compute::WeightMatrix& q = model.weights.layers[0].q;
  EXPECT_EQ(q.type, DType::kAffine8);  // an override
  EXPECT_EQ(q.affine.group_size, 32);
  EXPECT_EQ(q.row_stride_bytes, 64U);
  const compute::WeightMatrix& k = model.weights.layers[0].k;
  EXPECT_EQ(k.type, DType::kAffine4);
  EXPECT_EQ(k.affine.group_size, 64);
  EXPECT_EQ(k.affine.type, DType::kF16);
  EXPECT_EQ(k.affine.scales, model.source->find("model.layers.0.self_attn.k_proj.scales")->bytes.data());
}

TEST_F(Mlx, declared_otherwise_than_stored_is_an_error) {
  replace("\"bits\": 8", "\"bits\": 4");
  EXPECT_ERROR(open_model(*files_, "m"), kCorrupt,
               "tensor 'model.layers.0.self_attn.q_proj.weight': expected shape [64, 8], found [64, 16]");
}

TEST_F(Mlx, with_another_group_than_stored_is_an_error) {
  replace("\"group_size\": 32", "\"group_size\": 64");
  EXPECT_ERROR(open_model(*files_, "m"), kCorrupt, "q_proj.scales': expected shape [64, 1], found [64, 2]");
}

TEST_F(Mlx, codes_without_a_declaration_are_an_error) {
  replace("\"quantization\"", "\"not_quantization\"");
  EXPECT_ERROR(open_model(*files_, "m"), kCorrupt,
               "holds packed codes, but config.json declares no quantization");
}

}  // namespace
}  // namespace kvern::model
