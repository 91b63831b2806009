// Real trained models: stories260K and baby105 in several formats.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "model/open_model.h"
#include "support/result_matchers.h"
#include "support/shared_data.h"

namespace kvern::model {
namespace {

using compute::DType;

struct Expected {
  const char* file;
  DType embedding;
  DType down;
  int64_t hidden;
  int64_t ffn;
  int64_t layers;
  int64_t vocab;
  int64_t context;
};

class SharedModels : public testing::TestWithParam<Expected> {};

TEST_P(SharedModels, open_with_the_geometry_that_their_readme_states) {
  const Expected& expected = GetParam();
  const std::string path = std::string("models/") + expected.file;
  KVERN_REQUIRE_SHARED(path);
  const auto files = make_posix_files();
  ASSERT_OK_AND_ASSIGN(const OpenedModel model, open_model(*files, test::shared_data(path)));
  EXPECT_EQ(model.config.family, Family::kLlama);
  EXPECT_EQ(model.config.hidden, expected.hidden);
  EXPECT_EQ(model.config.ffn, expected.ffn);
  EXPECT_EQ(model.config.layers, expected.layers);
  EXPECT_EQ(model.config.vocab, expected.vocab);
  EXPECT_EQ(model.config.context, expected.context);
  EXPECT_EQ(model.weights.token_embedding.type, expected.embedding);
  EXPECT_EQ(model.weights.layers.front().down.type, expected.down);
}

INSTANTIATE_TEST_SUITE_P(
    All, SharedModels,
    testing::Values(Expected{"stories260K.f32.gguf", DType::kF32, DType::kF32, 64, 172, 5, 512, 512},
                    Expected{"stories260K.f16.gguf", DType::kF16, DType::kF16, 64, 172, 5, 512, 512},
                    Expected{"stories260K.q8_0.gguf", DType::kQ8_0, DType::kF16, 64, 172, 5, 512, 512},
                    Expected{"stories260K.q4_0.gguf", DType::kQ4_0, DType::kF16, 64, 172, 5, 512, 512},
                    Expected{"stories260K-hf", DType::kF32, DType::kF32, 64, 172, 5, 512, 512},
                    Expected{"baby105.f16.gguf", DType::kF16, DType::kF16, 128, 352, 5, 105, 256},
                    Expected{"baby105.q8_0.gguf", DType::kQ8_0, DType::kQ8_0, 128, 352, 5, 105, 256},
                    Expected{"baby105.q4_0.gguf", DType::kQ4_0, DType::kQ4_0, 128, 352, 5, 105, 256}),
    [](const testing::TestParamInfo<Expected>& info) {
      std::string name = info.param.file;
      for (char& c : name)
        if (c == '-' || c == '.') c = '_';
      return name;
    });

}  // namespace
}  // namespace kvern::model
