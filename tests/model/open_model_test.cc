// Opening whole models: the fixtures of every family, and what goes wrong with folders.
#include "model/open_model.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/memory_files.h"
#include "support/result_matchers.h"
#include "support/shared_data.h"

namespace kvern::model {
namespace {

using compute::DType;

std::string fixture(const std::string& name) { return test::test_data("transformers/" + name); }

struct Expected {
  const char* folder;
  Family family;
  DType stored;
  int64_t kv_heads;
  int64_t head_dim;
  bool tied;
};

class Fixtures : public testing::TestWithParam<Expected> {
 protected:
  std::unique_ptr<Files> files_ = make_posix_files();
};

TEST_P(Fixtures, open_with_the_geometry_that_their_config_declares) {
  const Expected& expected = GetParam();
  ASSERT_OK_AND_ASSIGN(const OpenedModel model, open_model(*files_, fixture(expected.folder)));
  const ModelConfig& config = model.config;
  EXPECT_EQ(config.family, expected.family);
  EXPECT_EQ(config.layers, 2);
  EXPECT_EQ(config.hidden, 64);
  EXPECT_EQ(config.heads, 4);
  EXPECT_EQ(config.kv_heads, expected.kv_heads);
  EXPECT_EQ(config.head_dim_k, expected.head_dim);
  EXPECT_EQ(config.tied, expected.tied);
  EXPECT_EQ(config.rope.pairing, compute::RopePairing::kHalfSplit);
  EXPECT_THAT(config.end_tokens, testing::ElementsAre(2));
  ASSERT_EQ(model.weights.layers.size(), 2U);
  const LayerWeights& layer = model.weights.layers[1];
  EXPECT_EQ(layer.q.type, expected.stored);
  EXPECT_EQ(layer.q.rows, 4 * expected.head_dim);
  EXPECT_EQ(layer.k.rows, expected.kv_heads * expected.head_dim);
  EXPECT_EQ(layer.down.cols, config.ffn);
  EXPECT_EQ(layer.attn_norm.size(), 64U);
  EXPECT_EQ(model.weights.token_embedding.rows, 256);
  EXPECT_EQ(model.weights.output.data == model.weights.token_embedding.data, expected.tied);
  EXPECT_OK(model.source->check_unchanged());
}

INSTANTIATE_TEST_SUITE_P(
    Families, Fixtures,
    testing::Values(Expected{"llama2-mha", Family::kLlama, DType::kF32, 4, 16, false},
                    Expected{"llama3-gqa-tied", Family::kLlama, DType::kF32, 2, 16, true},
                    Expected{"llama-bias-head-dim", Family::kLlama, DType::kF32, 2, 32, false},
                    Expected{"mistral", Family::kMistral, DType::kBF16, 2, 32, false},
                    Expected{"mistral-window", Family::kMistral, DType::kF16, 2, 32, false},
                    Expected{"qwen2-tied", Family::kQwen2, DType::kBF16, 2, 16, true},
                    Expected{"qwen2-untied", Family::kQwen2, DType::kF32, 2, 16, false},
                    Expected{"qwen3", Family::kQwen3, DType::kF32, 2, 32, true},
                    Expected{"phi3", Family::kPhi3, DType::kF32, 2, 16, false},
                    Expected{"phi3-longrope", Family::kPhi3, DType::kBF16, 2, 16, false},
                    Expected{"phi3-partial-rotary", Family::kPhi3, DType::kF16, 2, 16, false},
                    Expected{"mlx-llama-4bit", Family::kLlama, DType::kAffine4, 2, 16, true},
                    Expected{"mlx-qwen3-8bit", Family::kQwen3, DType::kAffine8, 2, 32, false}),
    [](const testing::TestParamInfo<Expected>& info) {
      std::string name = info.param.folder;
      for (char& c : name)
        if (c == '-') c = '_';
      return name;
    });

}  // namespace
}  // namespace kvern::model
