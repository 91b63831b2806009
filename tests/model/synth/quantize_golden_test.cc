// The simple formats, byte for byte against ggml's own quantizers.
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "model/synth/quantize.h"
#include "support/result_matchers.h"
#include "support/shared_data.h"

namespace kvern::model {
namespace {

using compute::DType;

class Golden : public testing::TestWithParam<DType> {};

TEST_P(Golden, encodes_as_ggml_does) {
  const std::string name(compute::traits(GetParam()).name);
  KVERN_REQUIRE_SHARED("ggml_quants/" + name + ".q.bin");
  const auto files = make_posix_files();
  const std::string folder = kvern::test::shared_data("ggml_quants/");
  ASSERT_OK_AND_ASSIGN(const std::string input, read_file(*files, folder + "input_f32_4x1024.bin", 1 << 20));
  ASSERT_OK_AND_ASSIGN(const std::string golden, read_file(*files, folder + name + ".q.bin", 1 << 20));
  std::vector<float> values(input.size() / sizeof(float));
  std::memcpy(values.data(), input.data(), input.size());
  std::vector<std::byte> encoded(compute::row_bytes(GetParam(), static_cast<int64_t>(values.size())));
  encode_row(GetParam(), values, encoded);
  ASSERT_EQ(encoded.size(), golden.size());
  size_t different = 0;
  for (size_t i = 0; i < golden.size(); ++i) different += encoded[i] != static_cast<std::byte>(golden[i]);
  EXPECT_EQ(different, 0U) << "of " << golden.size() << " bytes";
}

INSTANTIATE_TEST_SUITE_P(Formats, Golden,
                         testing::Values(DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0, DType::kQ4_1,
                                         DType::kQ5_0, DType::kQ5_1),
                         [](const testing::TestParamInfo<DType>& info) {
                           return std::string(compute::traits(info.param).name);
                         });

}  // namespace
}  // namespace kvern::model
