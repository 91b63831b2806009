// The same weights and facts in a GGUF file, named and laid out as llama.cpp's converter does
// (conversion/gemma.py and gguf-py/gguf/tensor_mapping.py of llama.cpp), give the same bits as in a Hugging
// Face folder.
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"
#include "base/memory_files.h"
#include "compute/tensor/float16.h"
#include "model/gguf/gguf_writer.h"
#include "model/support/model_runner.h"
#include "support/result_matchers.h"
#include "support/shared_data.h"

namespace kvern::model {
namespace {

using test::ModelRunner;
using test::RunnerCompute;

// Hugging Face's name inside a layer, then GGUF's.
const std::map<std::string, std::string> kLayerNames = {
    {"input_layernorm.weight", "attn_norm.weight"},
    {"self_attn.q_proj.weight", "attn_q.weight"},
    {"self_attn.k_proj.weight", "attn_k.weight"},
    {"self_attn.v_proj.weight", "attn_v.weight"},
    {"self_attn.o_proj.weight", "attn_output.weight"},
    {"self_attn.q_norm.weight", "attn_q_norm.weight"},
    {"self_attn.k_norm.weight", "attn_k_norm.weight"},
    {"post_attention_layernorm.weight", "post_attention_norm.weight"},
    {"pre_feedforward_layernorm.weight", "ffn_norm.weight"},
    {"post_feedforward_layernorm.weight", "post_ffw_norm.weight"},
    {"mlp.gate_proj.weight", "ffn_gate.weight"},
    {"mlp.up_proj.weight", "ffn_up.weight"},
    {"mlp.down_proj.weight", "ffn_down.weight"},
    {"per_layer_input_gate.weight", "inp_gate.weight"},
    {"per_layer_projection.weight", "proj.weight"},
    {"post_per_layer_input_norm.weight", "post_norm.weight"},
    {"altup.correction_coefs.weight", "altup_correct_coef.weight"},
    {"altup.correct_output_scale", "altup_correct_scale.weight"},
    {"altup.prediction_coefs.weight", "altup_predict_coef.weight"},
    {"altup.modality_router.weight", "altup_router.weight"},
    {"altup.router_norm.weight", "altup_router_norm.weight"},
    {"laurel.linear_left.weight", "laurel_l.weight"},
    {"laurel.linear_right.weight", "laurel_r.weight"},
    {"laurel.post_laurel_norm.weight", "laurel_post_norm.weight"},
};
const std::map<std::string, std::string> kModelNames = {
    {"model.embed_tokens.weight", "token_embd.weight"},
    {"model.norm.weight", "output_norm.weight"},
    {"model.embed_tokens_per_layer.weight", "per_layer_token_embd.weight"},
    {"model.per_layer_model_projection.weight", "per_layer_model_proj.weight"},
    {"model.per_layer_projection_norm.weight", "per_layer_proj_norm.weight"},
};

struct Tensor {
  compute::DType type;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

std::string gguf_name(const std::string& name) {
  const std::string layers = "model.layers.";
  if (!name.starts_with(layers)) return kModelNames.at(name);
  const size_t dot = name.find('.', layers.size());
  return "blk." + name.substr(layers.size(), dot - layers.size()) + "." +
         kLayerNames.at(name.substr(dot + 1));
}

// Gemma 2 and 3 store their norms as offsets from one; the converter adds it.
Tensor with_one_added(const StoredTensor& stored) {
  Tensor out{compute::DType::kF32, stored.shape, {}};
  for (size_t i = 0; i < stored.bytes.size(); i += 2) {
    uint16_t half = 0;
    std::memcpy(&half, stored.bytes.data() + i, sizeof half);
    const float value =
        1.0F + (stored.type == compute::DType::kF16 ? compute::f16_to_f32(half) : compute::bf16_to_f32(half));
    const auto bytes = std::as_bytes(std::span(&value, 1));
    out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
  }
  return out;
}

std::map<std::string, Tensor> converted(const TensorSource& source, bool offsets) {
  std::map<std::string, Tensor> out;
  for (const StoredTensor& stored : source.list()) {
    const std::string name(stored.name);
    const size_t altup = name.find("altup_");
    if (altup != std::string::npos) {  // the matrices are stacked; names are in order
      Tensor& stack = out[name.contains("unembed") ? "altup_unembd_proj.weight" : "altup_proj.weight"];
      stack.type = *stored.type;
      stack.shape = {stack.shape.empty() ? 1 : stack.shape[0] + 1, stored.shape[0], stored.shape[1]};
      stack.bytes.insert(stack.bytes.end(), stored.bytes.begin(), stored.bytes.end());
    } else if (offsets && name.ends_with("norm.weight")) {
      out[gguf_name(name)] = with_one_added(stored);
    } else {
      out[gguf_name(name)] = {*stored.type, stored.shape, {stored.bytes.begin(), stored.bytes.end()}};
    }
  }
  return out;
}

// The keys that the converter writes.
void add_metadata(const ModelConfig& c, GgufWriter& writer) {
  const std::string family(to_string(c.family));
  const auto u32 = [&](const char* key, int64_t value) {
    writer.add_u32(family + "." + key, static_cast<uint32_t>(value));
  };
  const auto f32 = [&](const char* key, double value) {
    writer.add_f32(family + "." + key, static_cast<float>(value));
  };
  writer.add_string("general.architecture", family);
  u32("block_count", c.layers);
  u32("context_length", c.context);
  u32("embedding_length", c.hidden);
  u32("feed_forward_length", c.ffn);
  u32("attention.head_count", c.heads);
  u32("attention.head_count_kv", c.kv_heads);
  u32("attention.key_length", c.head_dim_k);
  u32("attention.value_length", c.head_dim_v);
  u32("attention.sliding_window", c.window->tokens);
  f32("attention.layer_norm_rms_epsilon", c.norm_eps);
  f32("rope.freq_base", c.rope.theta);
  if (c.local_rope) f32("rope.freq_base_swa", c.local_rope->theta);
  if (c.rope.scaling == compute::RopeScaling::kLinear) {
    writer.add_string(family + ".rope.scaling.type", "linear");
    f32("rope.scaling.factor", c.rope.factor);
  }
  // Not the converter's, but the only way to say what these fixtures have.
  f32("attention.scale", c.attention_scale);
  std::vector<int32_t> windowed(c.window->layers.begin(), c.window->layers.end());
  writer.add_i32s(family + ".attention.sliding_window_pattern", windowed);
  if (!c.gemma3n) f32("attn_logit_softcapping", c.attention_softcap);
  f32("final_logit_softcapping", c.logit_softcap);
  if (!c.gemma3n) return;
  u32("attention.shared_kv_layers", c.shared_kv_layers);
  u32("altup.num_inputs", c.gemma3n->streams);
  u32("altup.active_idx", c.gemma3n->active_stream);
  u32("embedding_length_per_layer_input", c.gemma3n->layer_embedding);
  writer.add_f32s(family + ".activation_sparsity_scale", c.gemma3n->gate_cutoffs);
}

Status write_twin(Files& files, const OpenedModel& model, bool leftovers) {
  std::map<std::string, Tensor> tensors = converted(*model.source, model.config.norm_weight_offset != 0.0F);
  // Published models hold weights that layers with another's keys and values do not use.
  if (leftovers) tensors["blk.5.attn_k.weight"] = tensors.at("blk.2.attn_k.weight");
  GgufWriter writer;
  add_metadata(model.config, writer);
  for (const auto& [name, tensor] : tensors) writer.add_tensor(name, tensor.type, tensor.shape);
  KVERN_TRY_STATUS(writer.begin(files, "twin.gguf"));
  for (const auto& [name, tensor] : tensors) KVERN_TRY_STATUS(writer.write(tensor.bytes));
  KVERN_TRY(const uint64_t size, writer.finish());
  static_cast<void>(size);
  return Ok{};
}

class Twin : public testing::TestWithParam<const char*> {};

TEST_P(Twin, has_the_same_logits) {
  const auto disk = make_posix_files();
  const std::string folder = test::test_data(std::string("transformers/") + GetParam());
  ASSERT_OK_AND_ASSIGN(const auto original, ModelRunner::open(*disk, folder));
  ASSERT_OK_AND_ASSIGN(const OpenedModel opened, open_model(*disk, folder));
  const auto files = make_memory_files();
  ASSERT_OK(write_twin(*files, opened, opened.config.shared_kv_layers > 0));
  ASSERT_OK_AND_ASSIGN(const auto twin, ModelRunner::open(*files, "twin.gguf"));
  EXPECT_EQ(twin->config().family, opened.config.family);

  std::mt19937 random(1);
  std::vector<int32_t> prompt(60);
  for (int32_t& id : prompt) id = static_cast<int32_t>(random() % static_cast<uint64_t>(opened.config.vocab));
  const RunnerCompute how{.target = compute::best_target().value(), .threads = 2};
  ASSERT_OK_AND_ASSIGN(const std::vector<float> ours, original->prompt(prompt, how));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> theirs, twin->prompt(prompt, how));
  EXPECT_TRUE(test::same_bits(ours, theirs)) << test::largest_difference(ours, theirs);
}

INSTANTIATE_TEST_SUITE_P(Models, Twin,
                         testing::Values("gemma2-window-softcap", "gemma3-window", "gemma3-wide-window",
                                         "gemma3n-shared-kv"),
                         [](const testing::TestParamInfo<const char*>& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace kvern::model
