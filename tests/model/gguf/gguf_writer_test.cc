// What the writer writes, the reader reads back: any metadata, any tensors.
#include "model/gguf/gguf_writer.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/memory_files.h"
#include "model/gguf/gguf_reader.h"
#include "support/result_matchers.h"

namespace kvern::model {
namespace {

using compute::DType;

TEST(GgufWriter, writes_every_kind_of_value) {
  const auto files = make_memory_files();
  GgufWriter writer;
  writer.add_u32("u", 7);
  writer.add_i32("i", -7);
  writer.add_u64("long", uint64_t{1} << 40);
  writer.add_f32("f", 0.25F);
  writer.add_bool("yes", true);
  writer.add_string("s", "text");
  writer.add_strings("ss", std::vector<std::string>{"", "b", "ccc"});
  writer.add_i32s("is", std::vector<int32_t>{-1, 2});
  writer.add_f32s("fs", std::vector<float>{1.5F});
  ASSERT_OK(writer.begin(*files, "m.gguf"));
  ASSERT_OK(writer.finish());

  ASSERT_OK_AND_ASSIGN(const auto file, GgufFile::open(*files, "m.gguf"));
  const GgufMetadata& m = file->metadata();
  EXPECT_EQ(file->version(), 3U);
  EXPECT_EQ(m.get<uint32_t>("u").value(), 7U);
  EXPECT_EQ(m.get<int32_t>("i").value(), -7);
  EXPECT_EQ(m.get<uint64_t>("long").value(), uint64_t{1} << 40);
  EXPECT_EQ(m.get<float>("f").value(), 0.25F);
  EXPECT_TRUE(m.get<bool>("yes").value());
  EXPECT_EQ(m.get<std::string_view>("s").value(), "text");
  ASSERT_OK_AND_ASSIGN(const GgufStrings strings, m.strings("ss"));
  EXPECT_EQ(std::vector<std::string_view>(strings.begin(), strings.end()),
            (std::vector<std::string_view>{"", "b", "ccc"}));
  EXPECT_THAT(m.numbers<int32_t>("is").value(), testing::ElementsAre(-1, 2));
  EXPECT_THAT(m.numbers<float>("fs").value(), testing::ElementsAre(1.5F));
}

RC_GTEST_PROP(GgufWriter, tensors_come_back_with_their_bytes_whatever_their_shapes_and_alignment, ()) {
  constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kQ8_0, DType::kQ4_K};
  const auto files = make_memory_files();
  GgufWriter writer(uint32_t{1} << *rc::gen::inRange(0, 12));
  const int count = *rc::gen::inRange(1, 6);
  std::vector<std::vector<std::byte>> contents;
  for (int i = 0; i < count; ++i) {
    const DType type = kTypes[*rc::gen::inRange(0, 4)];
    const int64_t rows = *rc::gen::inRange(1, 5);
    const int64_t cols = *rc::gen::inRange(1, 4) * int64_t{compute::traits(type).block_elements};
    const std::vector<int64_t> shape = {rows, cols};
    writer.add_tensor("t" + std::to_string(i), type, shape);
    const size_t size = static_cast<size_t>(rows) * compute::row_bytes(type, cols);
    contents.push_back(*rc::gen::container<std::vector<std::byte>>(
        size, rc::gen::map(rc::gen::arbitrary<uint8_t>(), [](uint8_t b) { return std::byte(b); })));
  }
  RC_ASSERT(writer.begin(*files, "m.gguf").has_value());
  for (const auto& content : contents) {
    const size_t half = content.size() / 2;
    RC_ASSERT(writer.write(std::span(content).first(half)).has_value());
    RC_ASSERT(writer.write(std::span(content).subspan(half)).has_value());
  }
  RC_ASSERT(writer.finish().has_value());
  const auto file = GgufFile::open(*files, "m.gguf");
  RC_ASSERT(file.has_value());
  for (int i = 0; i < count; ++i) {
    const StoredTensor* tensor = (*file)->find("t" + std::to_string(i));
    RC_ASSERT(tensor != nullptr);
    RC_ASSERT(std::ranges::equal(tensor->bytes, contents[static_cast<size_t>(i)]));
  }
}

}  // namespace
}  // namespace kvern::model
