// Sharded models: what is wrong with a shard is found when the model is opened.
#include "model/safetensors/safetensors_model.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "model/support/file_bytes.h"
#include "support/result_matchers.h"
#include "support/temporary_directory.h"

namespace kvern::model {
namespace {

using test::put_file;
using test::safetensors_bytes;

constexpr size_t kBody = 8192;

std::string shard(const std::string& tensor, size_t body = kBody) {
  return safetensors_bytes(R"({")" + tensor + R"(":{"dtype":"F32","shape":[)" + std::to_string(body / 4) +
                               R"(],"data_offsets":[0,)" + std::to_string(body) + "]}}",
                           body);
}

class Shards : public testing::Test {
 protected:
  void SetUp() override {
    index(
        R"({"metadata":{"total_size":24576},"weight_map":{"x":"1.safetensors","y":"2.safetensors","z":"3.safetensors"}})");
    put_file(*files_, "m/1.safetensors", shard("x"));
    put_file(*files_, "m/2.safetensors", shard("y"));
    put_file(*files_, "m/3.safetensors", shard("z"));
  }
  void index(const std::string& text) { put_file(*files_, "m/model.safetensors.index.json", text); }
  auto open() { return SafetensorsModel::open(*files_, "m"); }

  std::unique_ptr<Files> files_ = make_memory_files();
};

TEST_F(Shards, open_as_one_model) {
  ASSERT_OK_AND_ASSIGN(const auto model, open());
  EXPECT_EQ(model->shard_count(), 3U);
  ASSERT_NE(model->find("y"), nullptr);
  EXPECT_EQ(model->find("y")->file, "m/2.safetensors");
  EXPECT_EQ(model->find("w"), nullptr);
  EXPECT_OK(model->check_unchanged());
}

TEST_F(Shards, short_by_a_byte_or_a_page_are_named_with_both_sizes) {
  const std::string whole = shard("y");
  for (const size_t missing : {size_t{1}, size_t{4096}, kBody}) {
    put_file(*files_, "m/2.safetensors", whole.substr(0, whole.size() - missing));
    EXPECT_ERROR(open(), kCorrupt,
                 "m/2.safetensors: the file has " + std::to_string(whole.size() - missing) +
                     " bytes, its header describes " + std::to_string(whole.size()));
  }
}

TEST_F(Shards, empty_or_missing_are_named) {
  put_file(*files_, "m/2.safetensors", "");
  EXPECT_ERROR(open(), kCorrupt, "m/2.safetensors: the file has 0 bytes");
  ASSERT_OK(files_->remove("m/2.safetensors"));
  EXPECT_ERROR(open(), kNotFound, "m/2.safetensors");
}

TEST_F(Shards, of_another_revision_are_named) {
  put_file(*files_, "m/2.safetensors", shard("other"));
  EXPECT_ERROR(open(), kCorrupt,
               "m/2.safetensors: holds tensor 'other', which the index does not place here");
  index(
      R"({"weight_map":{"x":"1.safetensors","other":"2.safetensors","y":"2.safetensors","z":"3.safetensors"}})");
  EXPECT_ERROR(open(), kCorrupt, "m/2.safetensors: lacks tensor 'y'");
}

TEST_F(Shards, with_one_name_in_two_files_are_refused) {
  index(R"({"weight_map":{"x":"1.safetensors","y":"2.safetensors"}})");
  put_file(*files_, "m/2.safetensors", shard("x"));
  EXPECT_ERROR(open(), kCorrupt, "holds tensor 'x', which the index does not place here");
}

TEST_F(Shards, cannot_lead_out_of_the_folder) {
  for (const char* name : {"../1.safetensors", "/etc/passwd", "..", ".", "", "a\\\\b"}) {
    index(std::string(R"({"weight_map":{"x":")") + name + R"("}})");
    EXPECT_ERROR(open(), kCorrupt, "names no file of this folder for tensor 'x'") << name;
  }
}

TEST_F(Shards, need_an_index_with_a_weight_map) {
  for (const char* text : {"[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{}})"}) {
    index(text);
    EXPECT_ERROR(open(), kCorrupt, "'weight_map'") << text;
  }
  index(R"({"weight_map":{"x":7}})");
  EXPECT_ERROR(open(), kCorrupt, "tensor 'x'");
  index("{");
  EXPECT_ERROR(open(), kCorrupt, "model.safetensors.index.json");
}

TEST(SafetensorsModel, opens_a_single_file_by_its_folder_or_name) {
  const auto files = make_memory_files();
  put_file(*files, "m/model.safetensors", shard("x"));
  for (const char* path : {"m", "m/", "m/model.safetensors"}) {
    ASSERT_OK_AND_ASSIGN(const auto model, SafetensorsModel::open(*files, path));
    EXPECT_NE(model->find("x"), nullptr);
    EXPECT_EQ(model->path(), path);
  }
}

TEST(SafetensorsModel, says_what_a_folder_without_weights_lacks) {
  const auto files = make_memory_files();
  put_file(*files, "m/readme.txt", "nothing");
  EXPECT_ERROR(SafetensorsModel::open(*files, "m"), kNotFound,
               "neither model.safetensors nor model.safetensors.index.json");
}

TEST(SafetensorsModel, notices_a_file_that_shrinks_while_it_is_mapped) {
  const kvern::test::TemporaryDirectory directory;
  const auto files = make_posix_files();
  const std::string path = directory.file("model.safetensors");
  put_file(*files, path, shard("x"));
  ASSERT_OK_AND_ASSIGN(const auto model, SafetensorsModel::open(*files, path));
  EXPECT_OK(model->check_unchanged());
  std::filesystem::resize_file(path, 100);
  const auto changed = model->check_unchanged();
  ASSERT_FALSE(changed.has_value());
  EXPECT_EQ(changed.error().where, path);
}

}  // namespace
}  // namespace kvern::model
