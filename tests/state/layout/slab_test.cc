#include "state/layout/slab.h"

#include <set>

#include <gtest/gtest.h>

#include "state/layout/layout_scene.h"
#include "support/result_matchers.h"

namespace kvern::state {
namespace {

StoreSpec everything() { return {.geometry = test::odd_geometry()}; }

EncodedRun only_run(const SlabLayout& slab, RowSlot row, int64_t begin, int64_t end) {
  RunList runs;
  slab.collect(row, {LayerIndex{1}, 0, KvSide::kValue}, begin, end, runs);
  const EncodedRuns list = runs;
  return list.size() == 1 ? list.front() : EncodedRun{};
}

TEST(SlabLayout, AChunkIsOneRun) {
  MemoryAccount account(0);
  SlabLayout slab(everything(), account, false);
  const RowSlot row = slab.add_row();
  ASSERT_OK(slab.extend(row, 2 * kSlabChunk));
  const EncodedRun first = only_run(slab, row, 0, kSlabChunk);
  EXPECT_EQ(first.count, kSlabChunk);
  const EncodedRun last = only_run(slab, row, kSlabChunk - 1, kSlabChunk);
  EXPECT_EQ(last.planes[0], first.planes[0] + 3 * (kSlabChunk - 1));
  EXPECT_EQ(last.planes[1], first.planes[1] + 16 * (kSlabChunk - 1));
}

TEST(SlabLayout, GrowingMovesNothing) {
  MemoryAccount account(0);
  SlabLayout slab(everything(), account, false);
  const RowSlot row = slab.add_row();
  ASSERT_OK(slab.extend(row, 1));
  const std::byte* before = only_run(slab, row, 0, 1).planes[0];
  ASSERT_OK(slab.extend(row, 20 * kSlabChunk));
  EXPECT_EQ(only_run(slab, row, 0, 1).planes[0], before);
}

TEST(SlabLayout, ChunksOfDroppedPositionsAreGivenBack) {
  MemoryAccount account(0);
  StoreSpec spec = everything();
  spec.head_end = 3;
  SlabLayout slab(spec, account, false);
  const RowSlot row = slab.add_row();
  ASSERT_OK(slab.extend(row, 10 * kSlabChunk));
  const size_t chunk = account.live_bytes() / 10;
  slab.drop(row, 5 * kSlabChunk - 1);
  EXPECT_EQ(account.live_bytes(), 7 * chunk);  // the head's, and one with a position still held
  slab.drop(row, 5 * kSlabChunk);
  EXPECT_EQ(account.live_bytes(), 6 * chunk);
  slab.remove_row(row);
  EXPECT_EQ(account.live_bytes(), 0U);
}

TEST(SlabLayout, AForkThatDoesNotFitLeavesTheTargetEmpty) {
  MemoryAccount sizes(0);
  const size_t chunk = SlabLayout(everything(), sizes, false).row_bytes({0, 1});
  MemoryAccount account(5 * chunk);
  SlabLayout slab(everything(), account, false);
  const RowSlot row = slab.add_row();
  const RowSlot twin = slab.add_row();
  ASSERT_OK(slab.extend(row, 3 * kSlabChunk));
  EXPECT_ERROR(slab.fork(row, twin), kExhausted, "budget");
  EXPECT_EQ(account.live_bytes(), 3 * chunk);
  EXPECT_EQ(slab.held(twin), Held{});
  slab.cut(row, 2 * kSlabChunk);
  EXPECT_OK(slab.fork(row, twin));
}

TEST(SlabLayout, NoRecordLiesTwiceAtOneAddress) {
  MemoryAccount account(0);
  SlabLayout slab(everything(), account, false);
  std::set<std::byte*> seen;
  for (const RowSlot row : {slab.add_row(), slab.add_row()}) {
    ASSERT_OK(slab.extend(row, kSlabChunk + 5));
    for (int64_t p = 0; p < kSlabChunk + 5; ++p) {
      const EncodedRun record = only_run(slab, row, p, p + 1);
      ASSERT_TRUE(seen.insert(record.planes[0]).second);
      ASSERT_TRUE(seen.insert(record.planes[1]).second);
    }
  }
}

}  // namespace
}  // namespace kvern::state
