// Hostile files: every field of a valid file is set to wrong values, and each gives an error that names file
// and reason.
#include "model/gguf/gguf_reader.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "model/support/file_bytes.h"
#include "model/support/tiny_gguf.h"
#include "support/result_matchers.h"

namespace kvern::model {
namespace {

using test::poke;

// A file with fixed positions: header (24 bytes), one metadata entry, two tensors [2, 32] in f32 and q8_0.
struct Layout {
  static constexpr size_t kVersion = 4;
  static constexpr size_t kTensorCount = 8;
  static constexpr size_t kEntryCount = 16;
  static constexpr size_t kKeyLength = 24;                  // key "general.x"
  static constexpr size_t kValueType = kKeyLength + 8 + 9;  // string "abcd"
  static constexpr size_t kValueLength = kValueType + 4;
  static constexpr size_t kFirst = kValueLength + 8 + 4;  // tensor "first"
  static constexpr size_t kDims = kFirst + 8 + 5;
  static constexpr size_t kInnerDim = kDims + 4;
  static constexpr size_t kOuterDim = kInnerDim + 8;
  static constexpr size_t kType = kOuterDim + 8;
  static constexpr size_t kOffset = kType + 4;
  static constexpr size_t kSecond = kOffset + 8;  // tensor "other"
  static constexpr size_t kSecondOffset = kSecond + 8 + 5 + 4 + 16 + 4;
};

std::string valid_file() {
  const auto files = make_memory_files();
  GgufWriter writer;
  writer.add_string("general.x", "abcd");
  const int64_t shape[] = {2, 32};
  writer.add_tensor("first", compute::DType::kF32, shape);
  writer.add_tensor("other", compute::DType::kQ8_0, shape);
  EXPECT_OK(writer.begin(*files, "m"));
  EXPECT_OK(writer.write(std::vector<std::byte>(256)));
  EXPECT_OK(writer.write(std::vector<std::byte>(68)));
  EXPECT_OK(writer.finish());
  return test::get_file(*files, "m");
}

Result<std::unique_ptr<GgufFile>> open_bytes(const std::string& bytes) {
  const auto files = make_memory_files();
  test::put_file(*files, "bad.gguf", bytes);
  return GgufFile::open(*files, "bad.gguf");
}

TEST(GgufReader, gives_shapes_outermost_first_and_spans_without_padding) {
  const auto files = make_memory_files();
  test::put_file(*files, "m.gguf", valid_file());
  ASSERT_OK_AND_ASSIGN(const auto file, GgufFile::open(*files, "m.gguf"));
  ASSERT_EQ(file->list().size(), 2U);
  const StoredTensor* other = file->find("other");
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->shape, (std::vector<int64_t>{2, 32}));
  EXPECT_EQ(other->type, compute::DType::kQ8_0);
  EXPECT_EQ(other->bytes.size(), 68U);
  EXPECT_EQ(other->file, "m.gguf");
  EXPECT_EQ(file->alignment(), 32U);
  EXPECT_OK(file->check_unchanged());
}

TEST(GgufReader, reads_version_2_as_version_3) {
  std::string bytes = valid_file();
  poke<uint32_t>(bytes, Layout::kVersion, 2);
  EXPECT_OK(open_bytes(bytes));
}

struct Fault {
  const char* name;
  std::function<void(std::string&)> damage;
  ErrorCode code;
  const char* message;
};

class HostileGguf : public testing::TestWithParam<Fault> {};

TEST_P(HostileGguf, gives_an_error_with_file_and_reason) {
  std::string bytes = valid_file();
  GetParam().damage(bytes);
  const auto file = open_bytes(bytes);
  EXPECT_TRUE(kvern::test::is_error(file, GetParam().code, GetParam().message));
  EXPECT_EQ(file.error().where, "bad.gguf");
}

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

template <typename T>
std::function<void(std::string&)> set(size_t offset, T value) {
  return [=](std::string& bytes) { poke<T>(bytes, offset, value); };
}

INSTANTIATE_TEST_SUITE_P(
    Header, HostileGguf,
    testing::Values(Fault{"empty", [](std::string& b) { b.clear(); }, ErrorCode::kCorrupt, "not a GGUF file"},
                    Fault{"magic", set<uint32_t>(0, 0), ErrorCode::kCorrupt, "not a GGUF file"},
                    Fault{"version_0", set<uint32_t>(4, 0), ErrorCode::kUnsupported, "GGUF version 0"},
                    Fault{"version_1", set<uint32_t>(4, 1), ErrorCode::kUnsupported, "GGUF version 1"},
                    Fault{"version_4", set<uint32_t>(4, 4), ErrorCode::kUnsupported, "GGUF version 4"},
                    Fault{"big_endian", set<uint32_t>(4, 3U << 24), ErrorCode::kUnsupported, "big-endian"},
                    Fault{"tensors_max", set<uint64_t>(Layout::kTensorCount, kMax), ErrorCode::kCorrupt,
                          "announces 18446744073709551615 tensors"},
                    Fault{"tensors_one_more", set<uint64_t>(Layout::kTensorCount, 3), ErrorCode::kCorrupt,
                          "tensor entry 2"},
                    Fault{"entries_max", set<uint64_t>(Layout::kEntryCount, kMax), ErrorCode::kCorrupt,
                          "metadata entries, more than"},
                    Fault{"entries_one_more", set<uint64_t>(Layout::kEntryCount, 2), ErrorCode::kCorrupt,
                          "tensor entry 0 has no valid name"},
                    Fault{"entries_one_less", set<uint64_t>(Layout::kEntryCount, 0), ErrorCode::kCorrupt,
                          "tensor 'general.x' has"},
                    Fault{"header_cut", [](std::string& b) { b.resize(20); }, ErrorCode::kCorrupt,
                          "the header ends early"},
                    Fault{"key_empty", set<uint64_t>(Layout::kKeyLength, 0), ErrorCode::kCorrupt,
                          "entry 0 has no valid key"},
                    Fault{"key_max", set<uint64_t>(Layout::kKeyLength, kMax), ErrorCode::kCorrupt,
                          "entry 0 has no valid key"},
                    Fault{"value_type_unknown", set<uint32_t>(Layout::kValueType, 13), ErrorCode::kCorrupt,
                          "unknown type 13"},
                    Fault{"value_length_max", set<uint64_t>(Layout::kValueLength, kMax), ErrorCode::kCorrupt,
                          "needs 18446744073709551615 bytes"},
                    Fault{"value_is_no_bool", set<uint32_t>(Layout::kValueType, 7), ErrorCode::kCorrupt,
                          "neither 0 nor 1"}),
    [](const testing::TestParamInfo<Fault>& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Tensors, HostileGguf,
    testing::Values(
        Fault{"name_empty", set<uint64_t>(Layout::kFirst, 0), ErrorCode::kCorrupt,
              "tensor entry 0 has no valid name"},
        Fault{"name_65_bytes", set<uint64_t>(Layout::kFirst, 65), ErrorCode::kCorrupt,
              "tensor entry 0 has no valid name"},
        Fault{"dims_0", set<uint32_t>(Layout::kDims, 0), ErrorCode::kCorrupt, "'first' has 0 dimensions"},
        Fault{"dims_5", set<uint32_t>(Layout::kDims, 5), ErrorCode::kCorrupt, "'first' has 5 dimensions"},
        Fault{"dim_0", set<uint64_t>(Layout::kInnerDim, 0), ErrorCode::kCorrupt,
              "dimension 0 of tensor 'first' is 0"},
        Fault{"dim_max", set<uint64_t>(Layout::kInnerDim, kMax), ErrorCode::kCorrupt,
              "dimension 0 of tensor 'first'"},
        Fault{"dim_half", set<uint64_t>(Layout::kOuterDim, uint64_t{1} << 63), ErrorCode::kCorrupt,
              "dimension 1"},
        Fault{"dim_too_long", set<uint64_t>(Layout::kOuterDim, 3), ErrorCode::kCorrupt,
              "tensor 'first' needs bytes 160 to 544 of the file, but the file has 512 bytes"},
        Fault{"dim_too_short", set<uint64_t>(Layout::kOuterDim, 1), ErrorCode::kCorrupt,
              "'other' starts at 256 of the data, but the one before it ends at 128"},
        Fault{"type_iq4_nl", set<uint32_t>(Layout::kType, 20), ErrorCode::kUnsupported,
              "'first' has the type IQ4_NL"},
        Fault{"type_mxfp4", set<uint32_t>(Layout::kType, 39), ErrorCode::kUnsupported, "the type MXFP4"},
        Fault{"type_q2_k", set<uint32_t>(Layout::kType, 10), ErrorCode::kUnsupported, "the type Q2_K"},
        Fault{"type_i8", set<uint32_t>(Layout::kType, 24), ErrorCode::kUnsupported, "the type I8"},
        Fault{"type_unknown", set<uint32_t>(Layout::kType, 4000), ErrorCode::kCorrupt,
              "the unknown type 4000"},
        Fault{"type_k_with_short_rows", set<uint32_t>(Layout::kType, 12), ErrorCode::kCorrupt,
              "rows of 32 elements, no multiple of the 256"},
        Fault{"offset_unaligned", set<uint64_t>(Layout::kOffset, 1), ErrorCode::kCorrupt,
              "'first' starts at 1"},
        Fault{"offset_overlaps", set<uint64_t>(Layout::kSecondOffset, 0), ErrorCode::kCorrupt,
              "'other' starts at 0 of the data"},
        Fault{"offset_leaves_a_gap", set<uint64_t>(Layout::kSecondOffset, 288), ErrorCode::kCorrupt,
              "'other' starts at 288"},
        Fault{"offset_max", set<uint64_t>(Layout::kSecondOffset, kMax), ErrorCode::kCorrupt,
              "'other' starts at 18446744073709551615"},
        Fault{"names_equal", [](std::string& b) { b.replace(Layout::kSecond + 8, 5, "first"); },
              ErrorCode::kCorrupt, "two tensors have the name 'first'"},
        Fault{"short_by_padding_and_one", [](std::string& b) { b.resize(b.size() - 29); },
              ErrorCode::kCorrupt, "it is truncated"},
        Fault{"no_data", [](std::string& b) { b.resize(Layout::kSecondOffset + 8); }, ErrorCode::kCorrupt,
              "it is truncated"}),
    [](const testing::TestParamInfo<Fault>& info) { return std::string(info.param.name); });

TEST(GgufReader, fails_at_every_length_that_cuts_data_off) {
  const std::string bytes = valid_file();
  const size_t needed = bytes.size() - 28;  // 68 bytes are padded to 96
  for (size_t length = 0; length < needed; ++length)
    EXPECT_FALSE(open_bytes(bytes.substr(0, length)).has_value()) << length;
  for (size_t length = needed; length <= bytes.size(); ++length)
    EXPECT_OK(open_bytes(bytes.substr(0, length)));
}

TEST(GgufReader, refuses_products_that_wrap_to_a_small_size) {
  // Each of four dimensions is possible for a file of this size; their product is 2^64.
  const auto files = make_memory_files();
  GgufWriter writer;
  const int64_t shape[] = {1, 1, 1, 1};
  writer.add_tensor("wraps", compute::DType::kF32, shape);
  ASSERT_OK(writer.begin(*files, "m"));
  ASSERT_OK(writer.write(std::vector<std::byte>(4)));
  ASSERT_OK(writer.finish());
  std::string bytes = test::get_file(*files, "m");
  bytes.resize(size_t{1} << 14);
  for (size_t i = 0; i < 4; ++i) poke<uint64_t>(bytes, 24 + 8 + 5 + 4 + 8 * i, uint64_t{1} << 16);
  EXPECT_ERROR(open_bytes(bytes), kCorrupt,
               "the size of tensor 'wraps' with shape [65536, 65536, 65536, 65536] overflows");
}

TEST(GgufReader, refuses_two_entries_of_one_key) {
  const auto files = make_memory_files();
  GgufWriter writer;
  writer.add_u32("k", 1);
  writer.add_u32("k", 2);
  ASSERT_OK(writer.begin(*files, "m"));
  EXPECT_ERROR(GgufFile::open(*files, "m"), kCorrupt, "metadata key 'k' appears twice");
}

TEST(GgufReader, refuses_alignments_that_are_no_power_of_two) {
  for (const uint32_t alignment : {0U, 3U, 48U, 1U << 21}) {
    const auto files = make_memory_files();
    GgufWriter writer;
    writer.add_u32("general.alignment", alignment);
    ASSERT_OK(writer.begin(*files, "m"));
    EXPECT_ERROR(GgufFile::open(*files, "m"), kCorrupt, "general.alignment is " + std::to_string(alignment));
  }
}

TEST(GgufReader, names_parts_of_split_models) {
  const auto files = make_memory_files();
  GgufWriter writer;
  writer.add_u32("split.count", 3);
  ASSERT_OK(writer.begin(*files, "m-00001-of-00003.gguf"));
  EXPECT_ERROR(GgufFile::open(*files, "m-00001-of-00003.gguf"), kUnsupported, "split into 3 files");
}

// An array of 4 i32, whose element type, count and content are then damaged.
TEST(GgufReader, checks_arrays_before_it_walks_them) {
  const auto files = make_memory_files();
  GgufWriter writer;
  writer.add_i32s("a", std::vector<int32_t>{1, 2, 3, 4});
  ASSERT_OK(writer.begin(*files, "m"));
  const std::string valid = test::get_file(*files, "m");
  const size_t element = 24 + 8 + 1 + 4;
  std::string bytes = valid;
  poke<uint32_t>(bytes, element, 9);
  EXPECT_ERROR(open_bytes(bytes), kUnsupported, "'a' is an array of arrays");
  bytes = valid;
  poke<uint32_t>(bytes, element, 99);
  EXPECT_ERROR(open_bytes(bytes), kCorrupt, "unknown element type 99");
  for (const uint64_t count : {kMax, kMax / 4 + 2, uint64_t{1} << 32, uint64_t{1000}}) {
    bytes = valid;
    poke<uint64_t>(bytes, element + 4, count);
    EXPECT_ERROR(open_bytes(bytes), kCorrupt, "elements, more than the file can hold");
  }
  bytes = valid;
  poke<uint32_t>(bytes, element, 8);  // strings: the first length is 1 | 2 << 32
  EXPECT_ERROR(open_bytes(bytes), kCorrupt, "string 0 of metadata key 'a' does not fit");
  bytes = valid;
  poke<uint64_t>(bytes, element + 4, 0);
  EXPECT_OK(open_bytes(bytes));  // an empty array; the rest counts as padding
}

}  // namespace
}  // namespace kvern::model
