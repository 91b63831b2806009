// Every tiny preset in every type opens as a model of its family.
#include "model/synth/synthetic_model.h"

#include <cstring>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "compute/tensor/float16.h"
#include "model/check_values.h"
#include "model/open_model.h"
#include "model/support/file_bytes.h"
#include "model/synth/presets.h"
#include "support/result_matchers.h"

namespace kvern::model {
namespace {

using compute::DType;

constexpr DType kTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ8_0,
                            DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1,
                            DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

class Tiny : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Files> files_ = make_memory_files();
};

TEST_P(Tiny, opens_in_every_type_with_the_geometry_of_its_preset) {
  const SynthPreset& preset = *find_synth_preset(GetParam());
  for (const DType type : kTypes) {
    ASSERT_OK_AND_ASSIGN(
        const SynthReport report,
        write_synthetic_model(
            *files_, {.preset = GetParam(), .type = type, .seed = 1, .path = "m.gguf", .threads = 2}));
    EXPECT_TRUE(report.fallbacks.empty());
    EXPECT_EQ(report.bytes, test::get_file(*files_, "m.gguf").size());
    EXPECT_FALSE(files_->exists("m.gguf.part"));
    ASSERT_OK_AND_ASSIGN(const OpenedModel model, open_model(*files_, "m.gguf"));
    EXPECT_OK(check_finite(*model.source));
    const ModelConfig& c = model.config;
    // Mistral has no name of its own in GGUF.
    EXPECT_EQ(c.family, preset.family == Family::kMistral ? Family::kLlama : preset.family);
    EXPECT_EQ(c.layers, preset.layers);
    EXPECT_EQ(c.head_dim_k, preset.head_dim);
    EXPECT_EQ(c.tied, preset.tied);
    EXPECT_EQ(c.context, preset.context);
    EXPECT_EQ(c.rope.freq_factors.empty(), preset.rope != SynthRope::kLlama3);
    EXPECT_EQ(c.rope.scaling == compute::RopeScaling::kLongRope, preset.rope == SynthRope::kLongRope);
    EXPECT_EQ(c.window ? c.window->tokens : 0, preset.window);
    if (preset.window != 0) {
      for (int64_t i = 0; i < c.layers; ++i)
        EXPECT_EQ(is_windowed(c, i), preset.window_period == 0 || (i + 1) % preset.window_period != 0);
    }
    EXPECT_EQ(c.attention_softcap, static_cast<float>(preset.attention_softcap));
    EXPECT_EQ(c.logit_softcap, static_cast<float>(preset.logit_softcap));
    EXPECT_EQ(c.post_norms, is_later_gemma(preset.family));
    EXPECT_THAT(c.end_tokens, testing::ElementsAre(preset.vocab - 1));
    EXPECT_EQ(model.weights.token_embedding.type, type);
    EXPECT_EQ(model.weights.layers[1].down.type, type);
    EXPECT_EQ(model.weights.layers[0].q_bias.empty(), preset.family != Family::kQwen2);
  }
}

INSTANTIATE_TEST_SUITE_P(Presets, Tiny,
                         testing::Values("tiny-llama", "tiny-llama3", "tiny-qwen2", "tiny-qwen3", "tiny-phi3",
                                         "tiny-gemma", "tiny-mistral", "tiny-gemma2", "tiny-gemma3"),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param.substr(5);
                         });

class Synth : public testing::Test {
 protected:
  std::string write(SynthOptions options) {
    options.path = "m.gguf";
    EXPECT_OK(write_synthetic_model(*files_, options));
    return test::get_file(*files_, "m.gguf");
  }
  std::unique_ptr<Files> files_ = make_memory_files();
};

TEST_F(Synth, depends_on_the_seed_and_not_on_the_threads) {
  const SynthOptions base{.preset = "tiny-llama", .type = DType::kQ8_0, .seed = 1, .path = {}, .threads = 1};
  SynthOptions threads = base;
  threads.threads = 3;
  SynthOptions seed = base;
  seed.seed = 2;
  const std::string one = write(base);
  EXPECT_EQ(write(threads), one);
  EXPECT_NE(write(seed), one);
}

TEST_F(Synth, holds_the_same_weights_in_every_type_up_to_rounding) {
  ASSERT_OK(write_synthetic_model(
      *files_, {.preset = "tiny-llama", .type = DType::kF32, .seed = 4, .path = "a.gguf", .threads = 1}));
  ASSERT_OK(write_synthetic_model(
      *files_, {.preset = "tiny-llama", .type = DType::kF16, .seed = 4, .path = "b.gguf", .threads = 1}));
  ASSERT_OK_AND_ASSIGN(const auto a, GgufFile::open(*files_, "a.gguf"));
  ASSERT_OK_AND_ASSIGN(const auto b, GgufFile::open(*files_, "b.gguf"));
  const StoredTensor* wide = a->find("blk.1.ffn_up.weight");
  const StoredTensor* narrow = b->find("blk.1.ffn_up.weight");
  for (size_t i = 0; i < 1000; ++i) {
    float exact = 0;
    uint16_t half = 0;
    std::memcpy(&exact, wide->bytes.data() + 4 * i, sizeof exact);
    std::memcpy(&half, narrow->bytes.data() + 2 * i, sizeof half);
    ASSERT_NEAR(compute::f16_to_f32(half), exact, 1e-4F);
  }
}

TEST_F(Synth, reports_matrices_that_cannot_have_the_wanted_type) {
  ASSERT_OK_AND_ASSIGN(
      const SynthReport report,
      write_synthetic_model(*files_, {.preset = "tiny-uneven", .type = DType::kQ4_K, .path = "m.gguf"}));
  ASSERT_OK_AND_ASSIGN(const auto file, GgufFile::open(*files_, "m.gguf"));
  // Rows of 160 hold blocks of 32, rows of 88 none.
  EXPECT_EQ(file->find("token_embd.weight")->type, DType::kQ8_0);
  EXPECT_EQ(file->find("blk.0.ffn_down.weight")->type, DType::kF16);
  size_t matrices = 0;
  for (const StoredTensor& tensor : file->list()) matrices += tensor.shape.size() == 2;
  EXPECT_EQ(report.fallbacks.size(), matrices);
  EXPECT_EQ(report.fallbacks.front().tensor, "token_embd.weight");
  EXPECT_EQ(report.fallbacks.front().used, DType::kQ8_0);
  EXPECT_OK(open_model(*files_, "m.gguf"));
}

TEST_F(Synth, says_what_it_can_write) {
  EXPECT_ERROR(write_synthetic_model(*files_, {.preset = "llama-9", .path = "m.gguf"}), kInvalidArgument,
               "there is no preset 'llama-9'; there are llama-3.2-1b, llama-3.2-3b");
  EXPECT_ERROR(
      write_synthetic_model(*files_, {.preset = "tiny-llama", .type = DType::kAffine4, .path = "m.gguf"}),
      kInvalidArgument, "a GGUF file cannot hold affine4");
  EXPECT_ERROR(write_synthetic_model(*files_, {.preset = "tiny-llama", .path = "m.gguf", .threads = 0}),
               kInvalidArgument, "0 threads");
  EXPECT_FALSE(files_->exists("m.gguf"));
  for (const SynthPreset& preset : synth_presets()) EXPECT_EQ(find_synth_preset(preset.name), &preset);
}

}  // namespace
}  // namespace kvern::model
