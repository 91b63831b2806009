#include "model/fingerprint.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/support/hf_config.h"
#include "support/result_matchers.h"

namespace kvern::model {
namespace {

// Tensors in memory that a test may change.
class OwnedTensors final : public TensorSource {
 public:
  OwnedTensors() {
    add("a", std::vector<std::byte>(1000, std::byte{1}));
    add("b", std::vector<std::byte>(1 << 20, std::byte{2}));
  }
  void add(const std::string& name, std::vector<std::byte> bytes) {
    contents.push_back(std::move(bytes));
    tensors.push_back({.name = name,
                       .type = compute::DType::kF16,
                       .shape = {static_cast<int64_t>(contents.back().size() / 2)},
                       .bytes = contents.back(),
                       .file = "f"});
  }
  const std::string& path() const override { return path_; }
  std::span<const StoredTensor> list() const override { return tensors; }
  const StoredTensor* find(std::string_view) const override { return nullptr; }
  Status check_unchanged() const override { return Ok{}; }

  std::vector<std::vector<std::byte>> contents;
  std::vector<StoredTensor> tensors;

 private:
  std::string path_ = "f";
};

class Fingerprint : public testing::Test {
 protected:
  ModelFingerprint sampled() const { return sampled_fingerprint(source_, config_).value(); }
  ModelFingerprint full() { return full_fingerprint(source_, config_, pool_).value(); }

  OwnedTensors source_;
  ModelConfig config_ = test::HfConfig().read().value();
  compute::ThreadPool pool_{2};
};

TEST_F(Fingerprint, is_the_same_for_the_same_model) {
  const OwnedTensors again;
  EXPECT_EQ(sampled(), sampled_fingerprint(again, config_).value());
  EXPECT_EQ(full(), full_fingerprint(again, config_, pool_).value());
  EXPECT_NE(sampled(), full());
}

TEST_F(Fingerprint, changes_with_configuration_names_types_and_shapes) {
  std::vector<ModelFingerprint> seen = {sampled()};
  config_.layers += 1;
  seen.push_back(sampled());
  source_.tensors[0].name = "c";
  seen.push_back(sampled());
  source_.tensors[0].type = compute::DType::kBF16;
  seen.push_back(sampled());
  source_.tensors[0].shape = {5, 100};
  seen.push_back(sampled());
  for (size_t i = 0; i < seen.size(); ++i)
    for (size_t j = 0; j < i; ++j) EXPECT_NE(seen[i], seen[j]);
}

TEST_F(Fingerprint, sampled_sees_every_byte_of_small_tensors_and_both_ends_of_large_ones) {
  const ModelFingerprint before = sampled();
  for (const auto& [tensor, at] : {std::pair<size_t, size_t>(0, 500), {1, 0}, {1, (1 << 20) - 1}}) {
    std::byte& byte = source_.contents[tensor][at];
    byte ^= std::byte{1};
    EXPECT_NE(sampled(), before) << tensor << " " << at;
    byte ^= std::byte{1};
  }
  // Other weights, as training or quantizing anew gives, differ everywhere.
  std::ranges::fill(source_.contents[1], std::byte{3});
  EXPECT_NE(sampled(), before);
}

TEST_F(Fingerprint, full_sees_every_byte_where_sampled_may_not) {
  const ModelFingerprint before = full();
  const ModelFingerprint sampled_before = sampled();
  source_.contents[1][5000] ^= std::byte{1};  // behind the first page and before the second sample
  EXPECT_NE(full(), before);
  EXPECT_EQ(sampled(), sampled_before);
}

}  // namespace
}  // namespace kvern::model
