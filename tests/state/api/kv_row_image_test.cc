#include <gtest/gtest.h>

#include "kvern/state.h"
#include "state/api/twin.h"
#include "support/result_matchers.h"

namespace kvern {
namespace {

KvRowImage image_of(int64_t tokens) {
  KvState state = *KvState::create(test::kTwinLayers);
  Compute compute = *Compute::create({.threads = 1});
  std::mt19937 random(5);
  const KvRow row = *state.add_row();
  KvStep step = *state.begin({{row, tokens}});
  for (size_t layer = 0; layer < test::kTwinLayers.size(); ++layer) {
    const test::TwinArrays arrays(random, test::kTwinLayers[layer], tokens);
    EXPECT_OK(step.append(compute, layer, arrays.input()));
  }
  EXPECT_OK(step.commit());
  return *state.extract(row);
}

TEST(KvRowImage, IsAValueThatOutlivesItsState) {
  KvRowImage image = image_of(20);
  EXPECT_EQ(image.length(), 20);
  EXPECT_GT(image.bytes(), 20U * 64 * 2);
  const KvRowImage copy = image;
  image = image_of(3);
  EXPECT_EQ(copy.length(), 20);
  image = copy;
  EXPECT_EQ(image.to_bytes(), copy.to_bytes());
  const KvRowImage& same = image;
  image = same;
  EXPECT_EQ(image.length(), 20);
}

TEST(KvRowImage, ReadsItsBytesAndNoOthers) {
  const KvRowImage image = image_of(20);
  std::vector<std::byte> bytes = image.to_bytes();
  ASSERT_OK_AND_ASSIGN(const KvRowImage read, KvRowImage::from_bytes(bytes));
  EXPECT_EQ(read.to_bytes(), bytes);
  EXPECT_ERROR(KvRowImage::from_bytes({}), kCorrupt, "");
  EXPECT_ERROR(KvRowImage::from_bytes(std::span(bytes).first(bytes.size() - 1)), kCorrupt, "");
  bytes[bytes.size() / 2] ^= std::byte{1};
  EXPECT_ERROR(KvRowImage::from_bytes(bytes), kCorrupt, "");
}

}  // namespace
}  // namespace kvern
