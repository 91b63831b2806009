#include "state/layout/page_format.h"

#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "state/layout/layout_scene.h"

namespace kvern::state {
namespace {

StreamId stream(int32_t layer, int64_t head, KvSide side) { return {LayerIndex{layer}, head, side}; }

TEST(PageFormat, EveryRecordHasBytesOfItsOwn) {
  const PageFormat format(test::odd_geometry(), 16);
  std::vector<std::byte> page(format.bytes());
  std::vector<int> owners(format.bytes());
  size_t records = 0;
  for (int32_t layer = 0; layer < 2; ++layer) {
    const LayerGeometry geometry = test::odd_geometry().layers[static_cast<size_t>(layer)];
    for (int64_t head = 0; head < geometry.kv_heads; ++head) {
      for (const KvSide side : {KvSide::kKey, KvSide::kValue}) {
        for (int64_t p = 0; p < 16; ++p) {
          const EncodedRun run = format.run(page.data(), stream(layer, head, side), p, 1);
          for (size_t plane = 0; plane < static_cast<size_t>(geometry.side(side).planes()); ++plane) {
            const auto begin = static_cast<size_t>(run.planes[plane] - page.data());
            const size_t bytes = geometry.side(side).record_bytes[plane];
            ASSERT_LE(begin + bytes, page.size());
            for (size_t i = begin; i < begin + bytes; ++i) ASSERT_EQ(owners[i]++, 0);
            ++records;
          }
        }
      }
    }
  }
  EXPECT_EQ(records, 16U * (2 * 4 + 3));
}

TEST(PageFormat, KeysAndValuesOfAHeadLieTogether) {
  const Geometry geometry{.layers = {{8, test::side_of({128}), test::side_of({128})}}};
  const PageFormat format(geometry, 16);
  std::vector<std::byte> page(format.bytes());
  const auto at = [&](int64_t head, KvSide side) {
    return format.run(page.data(), stream(0, head, side), 0, 16).planes[0] - page.data();
  };
  EXPECT_EQ(at(3, KvSide::kKey), 3 * 4096);
  EXPECT_EQ(at(3, KvSide::kValue), 3 * 4096 + 2048);
}

TEST(PageFormat, LargeRecordsBeginAtCacheLines) {
  // Codes of 128 and 48 bytes with scales of 4, 2 and 2: 184 bytes for each head and position.
  const Geometry geometry{.layers = {{4, test::side_of({4, 128}), test::side_of({2, 48, 2})}}};
  for (const int64_t positions : {16, 64, 256}) {
    const PageFormat format(geometry, positions);
    std::vector<std::byte> page(format.bytes());
    EXPECT_EQ(format.bytes(), static_cast<size_t>(positions) * 4 * 184);
    for (int64_t head = 0; head < 4; ++head) {
      const auto key = format.run(page.data(), stream(0, head, KvSide::kKey), 0, 1).planes[1] - page.data();
      const auto value =
          format.run(page.data(), stream(0, head, KvSide::kValue), 0, 1).planes[1] - page.data();
      EXPECT_EQ(key % 64, 0);
      EXPECT_EQ(value % 64, 0);
    }
  }
}

TEST(PageFormat, ARunIsTheRecordsOneAfterAnother) {
  const PageFormat format(test::odd_geometry(), 32);
  std::vector<std::byte> page(format.bytes());
  const StreamId id = stream(0, 1, KvSide::kKey);
  const EncodedRun run = format.run(page.data(), id, 5, 20);
  EXPECT_EQ(run.count, 20);
  const EncodedRun last = format.run(page.data(), id, 24, 1);
  EXPECT_EQ(last.planes[0], run.planes[0] + size_t{19} * 12);
  EXPECT_EQ(last.planes[1], run.planes[1] + size_t{19} * 2);
  EXPECT_EQ(last.planes[2], run.planes[2] + size_t{19} * 4);
}

TEST(PageFormat, PoisonAndCopyTouchTheirRecordsOnly) {
  const PageFormat small(test::odd_geometry(), 16);
  const PageFormat large(test::odd_geometry(), 48);
  std::vector<std::byte> from(small.bytes());
  std::vector<std::byte> to(large.bytes());
  small.poison(from.data(), 3, 2);
  PageSlice{large, to.data(), 30}.copy_from({small, from.data(), 2}, 4);
  for (int64_t p = 0; p < 48; ++p) {
    const EncodedRun run = large.run(to.data(), stream(1, 0, KvSide::kValue), p, 1);
    const auto expected = p == 31 || p == 32 ? std::byte{0xff} : std::byte{0};
    for (size_t i = 0; i < 16; ++i) ASSERT_EQ(run.planes[1][i], expected) << p;
  }
}

}  // namespace
}  // namespace kvern::state
