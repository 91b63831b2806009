// decode_row against the bytes and floats of llama.cpp's own library (shared data).
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compute/kernels/matmul.h"

namespace kvern::compute {
namespace {

constexpr int64_t kRows = 4;
constexpr int64_t kCols = 1024;

std::filesystem::path golden_dir() { return std::filesystem::path(KVERN_SHARED_DATA_DIR) / "ggml_quants"; }

std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::byte> result(bytes.size());
  if (!bytes.empty()) std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

WeightMatrix golden_matrix(DType type, const std::vector<std::byte>& encoded) {
  return {.type = type,
          .rows = kRows,
          .cols = kCols,
          .data = encoded.data(),
          .row_stride_bytes = row_bytes(type, kCols),
          .affine = {}};
}

struct GoldenFormat {
  DType type;
  std::string file;
};

class WeightsGolden : public testing::TestWithParam<GoldenFormat> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(golden_dir())) GTEST_SKIP() << golden_dir() << " is absent";
  }
};

TEST_P(WeightsGolden, DecodesEveryByteAsGgmlDoes) {
  const auto& [type, file] = GetParam();
  const auto encoded = read_bytes(golden_dir() / (file + ".q.bin"));
  const auto decoded = read_bytes(golden_dir() / (file + ".deq_f32.bin"));
  ASSERT_EQ(encoded.size(), kRows * row_bytes(type, kCols));
  ASSERT_EQ(decoded.size(), kRows * kCols * sizeof(float));
  const WeightMatrix matrix = golden_matrix(type, encoded);
  std::vector<float> row(kCols);
  for (int64_t r = 0; r < kRows; ++r) {
    decode_row(matrix, r, row.data());
    const auto* expected = decoded.data() + static_cast<size_t>(r * kCols) * sizeof(float);
    EXPECT_EQ(std::memcmp(row.data(), expected, kCols * sizeof(float)), 0) << "row " << r;
  }
}

INSTANTIATE_TEST_SUITE_P(
    BlockFormats, WeightsGolden,
    testing::Values(GoldenFormat{DType::kQ8_0, "q8_0"}, GoldenFormat{DType::kQ4_0, "q4_0"},
                    GoldenFormat{DType::kQ4_1, "q4_1"}, GoldenFormat{DType::kQ5_0, "q5_0"},
                    GoldenFormat{DType::kQ5_1, "q5_1"}, GoldenFormat{DType::kQ4_K, "q4_K"},
                    GoldenFormat{DType::kQ5_K, "q5_K"}, GoldenFormat{DType::kQ6_K, "q6_K"}),
    [](const auto& param_info) { return param_info.param.file; });

// The 16-bit formats have no decoded file: their values are the input, rounded.
TEST(WeightsGoldenPlain, SixteenBitRowsAreTheRoundedInput) {
  if (!std::filesystem::exists(golden_dir())) GTEST_SKIP() << golden_dir() << " is absent";
  const auto input = read_bytes(golden_dir() / "input_f32_4x1024.bin");
  const auto* expected = reinterpret_cast<const float*>(input.data());
  const struct {
    DType type;
    const char* file;
    float relative;
    float absolute;
  } cases[] = {{DType::kF16, "f16.q.bin", 0x1p-11f, 0x1p-25f}, {DType::kBF16, "bf16.q.bin", 0x1p-8f, 0.0f}};
  for (const auto& c : cases) {
    const auto encoded = read_bytes(golden_dir() / c.file);
    const WeightMatrix matrix = golden_matrix(c.type, encoded);
    std::vector<float> row(kCols);
    for (int64_t r = 0; r < kRows; ++r) {
      decode_row(matrix, r, row.data());
      for (int64_t i = 0; i < kCols; ++i) {
        const float want = expected[r * kCols + i];
        EXPECT_NEAR(row[static_cast<size_t>(i)], want, std::abs(want) * c.relative + c.absolute) << c.file;
      }
    }
  }
}

}  // namespace
}  // namespace kvern::compute
