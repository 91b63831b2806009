#include "model/gguf/gguf_metadata.h"

#include <ctime>
#include <string>

#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "model/gguf/gguf_reader.h"
#include "model/gguf/gguf_writer.h"
#include "support/result_matchers.h"

namespace kvern::model {
namespace {

class Metadata : public testing::Test {
 protected:
  void SetUp() override {
    GgufWriter writer;
    writer.add_u32("u", 300);
    writer.add_i32("minus", -1);
    writer.add_u64("big", uint64_t{1} << 40);
    writer.add_f32("f", 2.0F);
    writer.add_string("s", "x\ny");
    writer.add_strings("ss", std::vector<std::string>{"a"});
    writer.add_i32s("is", std::vector<int32_t>{1, -2, 3, 4, 5});
    ASSERT_OK(writer.begin(*files_, "m.gguf"));
    ASSERT_OK(writer.finish());
    auto file = GgufFile::open(*files_, "m.gguf");
    ASSERT_OK(file);
    file_ = std::move(*file);
  }
  const GgufMetadata& m() const { return file_->metadata(); }

  std::unique_ptr<Files> files_ = make_memory_files();
  std::unique_ptr<GgufFile> file_;
};

TEST_F(Metadata, converts_between_integers_that_fit) {
  EXPECT_EQ(m().get<int64_t>("u").value(), 300);
  EXPECT_EQ(m().get<uint64_t>("u").value(), 300U);
  EXPECT_EQ(m().get<int32_t>("minus").value(), -1);
  EXPECT_ERROR(m().get<uint32_t>("minus"), kCorrupt,
               "m.gguf: metadata key 'minus' must be an unsigned integer");
  EXPECT_ERROR(m().get<int32_t>("big"), kCorrupt,
               "'big' must be an integer of 32 bits, but is 1099511627776 (u64)");
}

TEST_F(Metadata, does_not_mix_kinds) {
  EXPECT_ERROR(m().get<float>("u"), kCorrupt, "'u' must be a floating-point number");
  EXPECT_ERROR(m().get<uint32_t>("f"), kCorrupt, "'f' must be");
  EXPECT_ERROR(m().get<bool>("u"), kCorrupt, "a bool");
  EXPECT_ERROR(m().get<std::string_view>("ss"), kCorrupt, "a string");
  EXPECT_ERROR(m().strings("is"), kCorrupt, "an array of strings, but is [1, -2, 3, 4, …] (5 of i32)");
  EXPECT_ERROR(m().numbers<int32_t>("ss"), kCorrupt, "an array of numbers");
  EXPECT_ERROR(m().numbers<uint32_t>("is"), kCorrupt, "elements are each an unsigned integer");
  EXPECT_EQ(m().get<double>("f").value(), 2.0);
}

TEST_F(Metadata, tells_absent_from_wrong) {
  EXPECT_ERROR(m().get<uint32_t>("nothing"), kNotFound, "metadata key 'nothing' is missing");
  EXPECT_EQ(m().get_optional<uint32_t>("nothing").value(), std::nullopt);
  EXPECT_ERROR(m().get_optional<uint32_t>("s"), kCorrupt, "'x\\x0ay' (string)");
}

TEST(MetadataSpeed, a_vocabulary_of_300000_entries_opens_in_less_than_a_second) {
  const auto files = make_memory_files();
  GgufWriter writer;
  std::vector<std::string> tokens;
  for (int i = 0; i < 300000; ++i) tokens.push_back("token " + std::to_string(i));
  writer.add_strings("tokenizer.ggml.tokens", tokens);
  writer.add_i32s("tokenizer.ggml.token_type", std::vector<int32_t>(tokens.size(), 1));
  ASSERT_OK(writer.begin(*files, "m.gguf"));
  ASSERT_OK(writer.finish());
  // Processor time: a busy machine says nothing about the reader.
  const std::clock_t start = std::clock();
  ASSERT_OK_AND_ASSIGN(const auto file, GgufFile::open(*files, "m.gguf"));
  ASSERT_OK_AND_ASSIGN(const GgufStrings strings, file->metadata().strings("tokenizer.ggml.tokens"));
  size_t bytes = 0;
  for (const std::string_view token : strings) bytes += token.size();
  EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC);
  EXPECT_EQ(strings.size(), tokens.size());
  EXPECT_GT(bytes, 300000U * 7);
}

}  // namespace
}  // namespace kvern::model
