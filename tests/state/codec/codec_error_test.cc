// The table of docs/kv-codecs.md: how far stored numbers are from normally distributed ones, and their bytes.
#include <fstream>
#include <iomanip>
#include <sstream>

#include "state/codec/kv_type.h"
#include "state/codec/stored_vectors.h"

namespace kvern::state {
namespace {

constexpr int64_t kDim = 128;
constexpr int64_t kCount = 4096;

struct Measured {
  double error;    // mean square over the numbers' variance
  double outlier;  // the same where one number in 64 is twenty times as large
  double bytes;    // a number
};

double mean_square_error(const SideCodec& side, std::vector<float> x) {
  const compute::CpuTarget target = *compute::best_target();
  const std::vector<float> original = x;
  if (side.rotation != Rotation::kNone) {
    rotation_kernels(side.rotation, target).forward({x.data(), kCount, kDim, kDim});
  }
  const Codec& codec = *side.codec;
  const Stored stored(codec, kCount, kDim);
  codec.kernels(target).encode({x.data(), kDim, codec.shape(kDim)}, stored.run);
  codec.kernels(target).decode(codec.shape(kDim), stored.run, x.data());
  if (side.rotation != Rotation::kNone) {
    rotation_kernels(side.rotation, target).inverse({x.data(), kCount, kDim, kDim});
  }
  double error = 0.0;
  double square = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    error += std::pow(static_cast<double>(x[i]) - original[i], 2);
    square += std::pow(static_cast<double>(original[i]), 2);
  }
  return error / square;
}

Measured measure(const SideCodec& side) {
  const std::vector<float> x = test::normal_floats(kCount * kDim);
  std::vector<float> with_outliers = x;
  for (size_t i = 5; i < x.size(); i += 64) with_outliers[i] *= 20.0F;
  size_t bytes = 0;
  for (int p = 0; p < side.codec->planes; ++p) bytes += side.codec->record_bytes(*side.codec, p, kDim);
  return {mean_square_error(side, x), mean_square_error(side, with_outliers),
          static_cast<double>(bytes) / static_cast<double>(kDim)};
}

SideCodec side_of(const std::string& name) {
  const bool value = name.starts_with("turbo:v");
  if (!name.starts_with("turbo:")) return *resolve(parse_kv_types(name)->k, kDim);
  const KvTypes types = *parse_kv_types(value ? "turbo:k8" + name.substr(6) : name + "v8");
  return *resolve(value ? types.v : types.k, kDim);
}

/// Rows "| `name` | bytes | error | error with outliers |" of the document's first part; a later one has
/// figures of models.
std::vector<std::vector<std::string>> documented_rows() {
  std::ifstream file(std::string(KVERN_SOURCE_DIR) + "/docs/kv-codecs.md");
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line == "## On models") break;
    if (!line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    std::istringstream in(line.substr(1));
    for (std::string cell; std::getline(in, cell, '|');) {
      const size_t first = cell.find_first_not_of(" `");
      cells.push_back(cell.substr(first, cell.find_last_not_of(" `") + 1 - first));
    }
    if (cells.size() == 4 && cells[1].find_first_not_of("0123456789.") == std::string::npos)
      rows.push_back(cells);
  }
  return rows;
}

TEST(CodecError, StandsInTheDocumentedTable) {
  size_t checked = 0;
  for (const std::vector<std::string>& row : documented_rows()) {
    SCOPED_TRACE(row[0]);
    const Measured measured = measure(side_of(row[0]));
    EXPECT_NEAR(measured.bytes, std::stod(row[1]), 6e-5);
    const double error = std::stod(row[2]);
    const double outlier = std::stod(row[3]);
    EXPECT_NEAR(measured.error, error, 0.03 * error)
        << std::scientific << std::setprecision(2) << measured.error;
    EXPECT_NEAR(measured.outlier, outlier, 0.03 * outlier)
        << std::scientific << std::setprecision(2) << measured.outlier;
    ++checked;
  }
  EXPECT_EQ(checked, 33U) << "every codec with its default group, and every group of 8 and 4 bits";
}

TEST(CodecError, OfTurboQuantsValuesIsAtMostThatOfTheirTables) {
  // Published for the unit normal law. Groups are a little better, being scaled by their own root mean
  // square.
  const std::vector<std::pair<const char*, double>> published = {
      {"turbo:v2", 0.11748}, {"turbo:v3", 0.03455}, {"turbo:v4", 0.00950}, {"turbo:v5", 0.00250}};
  for (const auto& [name, error] : published) {
    const double ratio = measure(side_of(name)).error / error;
    EXPECT_LT(ratio, 1.0) << name;
    EXPECT_GT(ratio, 0.92) << name;
  }
}

}  // namespace
}  // namespace kvern::state
