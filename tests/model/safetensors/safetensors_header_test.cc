#include "model/safetensors/safetensors_header.h"

#include <string>

#include <gtest/gtest.h>

#include "model/support/file_bytes.h"
#include "support/result_matchers.h"

namespace kvern::model {
namespace {

Result<std::vector<StoredTensor>> parse(const std::string& bytes) {
  static const std::string kFile = "shard.safetensors";
  return parse_safetensors(std::as_bytes(std::span(bytes)), kFile);
}

constexpr const char* kValid =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]},)"
    R"("a":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]},"one":{"dtype":"F16","shape":[],"data_offsets":[32,34]}})";

TEST(SafetensorsHeader, gives_types_shapes_and_spans) {
  const std::string bytes = test::safetensors_bytes(kValid, 34);
  ASSERT_OK_AND_ASSIGN(const auto tensors, parse(bytes));
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[1].name, "b");
  EXPECT_EQ(tensors[1].type, compute::DType::kF32);
  EXPECT_EQ(tensors[1].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensors[1].bytes.size(), 24U);
  EXPECT_EQ(reinterpret_cast<const char*>(tensors[0].bytes.data()), bytes.data() + bytes.size() - 34);
  EXPECT_TRUE(tensors[2].shape.empty());
}

TEST(SafetensorsHeader, gives_no_float_type_to_packed_codes) {
  const std::string bytes =
      test::safetensors_bytes(R"({"w":{"dtype":"U32","shape":[2,2],"data_offsets":[0,16]}})", 16);
  ASSERT_OK_AND_ASSIGN(const auto tensors, parse(bytes));
  EXPECT_EQ(tensors[0].type, std::nullopt);
}

struct Fault {
  const char* name;
  std::string header;
  size_t body;
  ErrorCode code;
  const char* message;
};

class HostileSafetensors : public testing::TestWithParam<Fault> {};

TEST_P(HostileSafetensors, gives_an_error_with_file_and_reason) {
  const auto tensors = parse(test::safetensors_bytes(GetParam().header, GetParam().body));
  EXPECT_TRUE(kvern::test::is_error(tensors, GetParam().code, GetParam().message));
  EXPECT_EQ(tensors.error().where, "shard.safetensors");
}

std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

std::string two(const std::string& first, const std::string& second) {
  return R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)" + first +
         R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + second + "}}";
}

INSTANTIATE_TEST_SUITE_P(
    Header, HostileSafetensors,
    testing::Values(
        Fault{"no_json", "hello", 0, ErrorCode::kCorrupt, "shard.safetensors"},
        Fault{"an_array", "[]", 0, ErrorCode::kCorrupt, "no JSON object"},
        Fault{"entry_is_a_number", R"({"t":1})", 0, ErrorCode::kCorrupt,
              "the entry of tensor 't' is no object"},
        Fault{"no_dtype", R"({"t":{"shape":[1],"data_offsets":[0,4]}})", 4, ErrorCode::kCorrupt,
              "'t' has no dtype"},
        Fault{"dtype_unknown", one("F33", "[1]", "[0,4]"), 4, ErrorCode::kCorrupt, "unknown type 'F33'"},
        Fault{"dtype_fp8", one("F8_E4M3", "[4]", "[0,4]"), 4, ErrorCode::kUnsupported,
              "'t' has the type F8_E4M3"},
        Fault{"dtype_i32", one("I32", "[1]", "[0,4]"), 4, ErrorCode::kUnsupported, "'t' has the type I32"},
        Fault{"no_shape", R"({"t":{"dtype":"F32","data_offsets":[0,4]}})", 4, ErrorCode::kCorrupt,
              "has no shape"},
        Fault{"nine_dimensions", one("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, ErrorCode::kCorrupt,
              "at most 8"},
        Fault{"negative_dimension", one("F32", "[-1]", "[0,4]"), 4, ErrorCode::kCorrupt, "no number from 0"},
        Fault{"fractional_dimension", one("F32", "[1.5]", "[0,4]"), 4, ErrorCode::kCorrupt,
              "no number from 0"},
        Fault{"dimension_max", one("F32", "[18446744073709551615]", "[0,4]"), 4, ErrorCode::kCorrupt,
              "no number from 0"},
        Fault{"product_wraps_to_zero", one("F32", "[4294967296,4294967296]", "[0,0]"), 0, ErrorCode::kCorrupt,
              "overflows"},
        Fault{"product_wraps_to_a_small_size", one("F32", "[4611686018427387905]", "[0,4]"), 4,
              ErrorCode::kCorrupt, "overflows"},
        Fault{"shape_of_32_bytes_over_16", one("F32", "[8]", "[0,16]"), 16, ErrorCode::kCorrupt,
              "needs 32 bytes, but its span has 16"},
        Fault{"span_backwards", one("F32", "[1]", "[4,0]"), 4, ErrorCode::kCorrupt,
              "ends (at 0) before it begins (at 4)"},
        Fault{"span_of_three", one("F32", "[1]", "[0,4,8]"), 4, ErrorCode::kCorrupt,
              "no pair of data_offsets"},
        Fault{"span_negative", one("F32", "[1]", "[-4,0]"), 4, ErrorCode::kCorrupt, "no number from 0"},
        Fault{"span_beyond_the_file", one("F32", "[4]", "[0,16]"), 8, ErrorCode::kCorrupt, "it is truncated"},
        Fault{"span_far_beyond", one("F32", "[2305843009213693951]", "[0,9223372036854775804]"), 8,
              ErrorCode::kCorrupt, "it is truncated"},
        Fault{"does_not_begin_at_zero", one("F32", "[1]", "[4,8]"), 8, ErrorCode::kCorrupt,
              "a hole between them"},
        Fault{"overlap", two("[0,4]", "[2,6]"), 8, ErrorCode::kCorrupt,
              "'b' begins at 2 of the data, but the one before it ends at 4: they overlap"},
        Fault{"same_span", two("[0,4]", "[0,4]"), 4, ErrorCode::kCorrupt, "they overlap"},
        Fault{"hole", two("[0,4]", "[8,12]"), 12, ErrorCode::kCorrupt, "'b' begins at 8"},
        Fault{"bytes_that_nobody_owns", one("F32", "[1]", "[0,4]"), 5, ErrorCode::kCorrupt, "no tensor owns"},
        Fault{
            "one_name_twice",
            R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
            4, ErrorCode::kCorrupt, "two tensors have the name 't'"},
        Fault{
            "one_name_in_two_spellings",
            R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"\u0074":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})",
            4, ErrorCode::kCorrupt, "two tensors have the name 't'"},
        Fault{"deep", R"({"t":)" + std::string(100, '[') + std::string(100, ']') + "}", 0,
              ErrorCode::kCorrupt, "shard.safetensors"}),
    [](const testing::TestParamInfo<Fault>& info) { return std::string(info.param.name); });

TEST(SafetensorsHeader, checks_the_length_of_the_header) {
  EXPECT_ERROR(parse(""), kCorrupt, "the file has 0 bytes, a safetensors file at least 8");
  EXPECT_ERROR(parse("1234567"), kCorrupt, "the file has 7 bytes");
  std::string bytes = test::safetensors_bytes(kValid, 34);
  test::poke<uint64_t>(bytes, 0, bytes.size() - 7);
  EXPECT_ERROR(parse(bytes), kCorrupt, "its header alone needs");
  test::poke<uint64_t>(bytes, 0, kSafetensorsMaxHeaderBytes + 1);
  EXPECT_ERROR(parse(bytes), kCorrupt, "the limit is 100000000");
  test::poke<uint64_t>(bytes, 0, ~uint64_t{0});
  EXPECT_ERROR(parse(bytes), kCorrupt, "the limit is 100000000");
  test::poke<uint64_t>(bytes, 0, 0);
  EXPECT_ERROR(parse(bytes), kCorrupt, "shard.safetensors");
}

TEST(SafetensorsHeader, says_both_sizes_for_a_short_file) {
  const std::string bytes = test::safetensors_bytes(kValid, 34);
  EXPECT_ERROR(parse(bytes.substr(0, bytes.size() - 1)), kCorrupt,
               "the file has " + std::to_string(bytes.size() - 1) + " bytes, its header describes " +
                   std::to_string(bytes.size()) + ": it is truncated");
}

}  // namespace
}  // namespace kvern::model
