#include "model/model.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "support/result_matchers.h"
#include "support/shared_data.h"

namespace kvern::model {
namespace {

TEST(Model, knows_the_sizes_of_what_it_reads_and_keeps) {
  const auto files = make_posix_files();
  ASSERT_OK_AND_ASSIGN(const auto model,
                       Model::open(*files, test::source_file("models/kvern-tiny-8m-q8_0.gguf")));
  const int64_t layers = 8 * (2 * 256 * 256 + 2 * 128 * 256 + 3 * 256 * 768);
  EXPECT_EQ(model->layer_parameters(), layers);
  EXPECT_EQ(model->output_parameters(), 4096 * 256);
  EXPECT_EQ(model->weight_bytes_per_step(), static_cast<uint64_t>(layers + 4096 * 256) / 32 * 34);
  const state::KvSpec spec = model->kv_spec();
  ASSERT_EQ(spec.layers.size(), 8U);
  EXPECT_EQ(spec.layers[7].kv_heads, 4);
  EXPECT_EQ(spec.layers[7].k_dim, 32);
  EXPECT_EQ(spec.layers[7].v_dim, 32);
}

TEST(Model, tells_the_rope_scaling_how_long_rows_will_be) {
  const auto files = make_posix_files();
  const std::string path = test::test_data("transformers/phi3-longrope");
  ASSERT_OK_AND_ASSIGN(const auto usual, Model::open(*files, path));
  EXPECT_EQ(usual->config().rope.context, 512);
  ASSERT_OK_AND_ASSIGN(const auto shorter, Model::open(*files, path, 100));
  EXPECT_EQ(shorter->config().rope.context, 100);
}

TEST(Model, names_what_cannot_be_opened) {
  const auto files = make_posix_files();
  EXPECT_ERROR(Model::open(*files, "/nowhere"), kNotFound, "/nowhere");
}

TEST(Model, keeps_keys_and_values_of_the_layers_that_own_them_with_their_windows) {
  const auto files = make_posix_files();
  ASSERT_OK_AND_ASSIGN(const auto model,
                       Model::open(*files, test::test_data("transformers/gemma3n-shared-kv")));
  const state::KvSpec spec = model->kv_spec();
  ASSERT_EQ(spec.layers.size(), 3U);  // of six
  EXPECT_EQ(spec.layers[0].window, 8);
  EXPECT_EQ(spec.layers[1].window, 0);
  EXPECT_EQ(spec.layers[2].window, 8);
  EXPECT_EQ(spec.layers[2].k_dim, 32);
}

}  // namespace
}  // namespace kvern::model
