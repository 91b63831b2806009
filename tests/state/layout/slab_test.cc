#include "state/layout/slab.h"

#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "state/codec/registry.h"
#include "support/result_matchers.h"

namespace kvern::state {
namespace {

Geometry two_layers() {
  const SideGeometry key{&codec(CodecId::kF16), 16, 1, {32}};
  const SideGeometry value{&codec(CodecId::kF32), 32, 1, {128}};
  return {{{2, key, value}, {3, key, value}}};
}

const std::vector<StreamId>& streams() {
  static const std::vector<StreamId> all = [] {
    std::vector<StreamId> list;
    for (const auto& [layer, heads] : {std::pair<int32_t, int64_t>{0, 2}, {1, 3}}) {
      for (int64_t head = 0; head < heads; ++head) {
        list.push_back({LayerIndex{layer}, head, KvSide::kKey});
        list.push_back({LayerIndex{layer}, head, KvSide::kValue});
      }
    }
    return list;
  }();
  return all;
}

size_t record_bytes(const StreamId& stream) { return stream.side == KvSide::kKey ? 32 : 128; }

TEST(SlabLayout, GivesEveryPositionOfEveryStreamMemoryOfItsOwn) {
  MemoryAccount account(0);
  SlabLayout slab(two_layers(), account, false);
  const RowSlot rows[] = {slab.add_row(), slab.add_row()};
  constexpr int64_t kLength = kSlabChunk + 5;
  std::set<std::byte*> seen;
  for (const RowSlot row : rows) {
    ASSERT_OK(slab.reserve(row, kLength));
    for (const StreamId& stream : streams()) {
      for (int64_t p = 0; p < kLength; ++p) {
        std::byte* record = slab.run(row, stream, p, p + 1).planes[0];
        // No address twice, and each record can be filled without touching another (checked by ASan, too).
        ASSERT_TRUE(seen.insert(record).second);
        std::memset(record, 1, record_bytes(stream));
      }
    }
  }
}

TEST(SlabLayout, RunsAreContiguousAndCoverAnyRange) {
  MemoryAccount account(0);
  SlabLayout slab(two_layers(), account, false);
  const RowSlot row = slab.add_row();
  ASSERT_OK(slab.reserve(row, 3 * kSlabChunk));
  const StreamId stream = streams().back();
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 1},
                                   {0, kSlabChunk},
                                   {kSlabChunk - 1, kSlabChunk + 1},
                                   {3, 3 * kSlabChunk}}) {
    int64_t p = begin;
    while (p < end) {
      const EncodedRun run = slab.run(row, stream, p, end);
      ASSERT_GT(run.count, 0);
      ASSERT_LE(p + run.count, end);
      for (int64_t i = 0; i < run.count; ++i) {
        const EncodedRun single = slab.run(row, stream, p + i, p + i + 1);
        ASSERT_EQ(single.planes[0], run.planes[0] + static_cast<size_t>(i) * record_bytes(stream));
      }
      p += run.count;
    }
    EXPECT_EQ(p, end);
  }
}

TEST(SlabLayout, GrowingMovesNothing) {
  MemoryAccount account(0);
  SlabLayout slab(two_layers(), account, false);
  const RowSlot row = slab.add_row();
  ASSERT_OK(slab.reserve(row, 1));
  const std::byte* before = slab.run(row, streams()[0], 0, 1).planes[0];
  ASSERT_OK(slab.reserve(row, 20 * kSlabChunk));
  EXPECT_EQ(slab.run(row, streams()[0], 0, 1).planes[0], before);
}

TEST(SlabLayout, HoldsExactlyTheBytesThatItProjects) {
  MemoryAccount account(0);
  SlabLayout slab(two_layers(), account, false);
  const RowSlot row = slab.add_row();
  for (const int64_t length : {0L, 1L, kSlabChunk - 1, kSlabChunk, kSlabChunk + 1, 5 * kSlabChunk}) {
    ASSERT_OK(slab.reserve(row, length));
    EXPECT_EQ(account.live_bytes(), slab.row_bytes(length));
    EXPECT_GE(slab.row_bytes(length), static_cast<size_t>(length) * two_layers().bytes_per_token());
  }
  slab.shrink(row, kSlabChunk);
  EXPECT_EQ(account.live_bytes(), slab.row_bytes(kSlabChunk));
  slab.remove_row(row);
  EXPECT_EQ(account.live_bytes(), 0U);
}

TEST(SlabLayout, ACopyThatDoesNotFitLeavesTheTargetEmpty) {
  MemoryAccount sizes(0);
  const size_t chunk = SlabLayout(two_layers(), sizes, false).row_bytes(1);
  MemoryAccount account(5 * chunk);
  SlabLayout slab(two_layers(), account, false);
  const RowSlot row = slab.add_row();
  const RowSlot twin = slab.add_row();
  ASSERT_OK(slab.reserve(row, 3 * kSlabChunk));
  EXPECT_ERROR(slab.copy(row, twin, 3 * kSlabChunk), kExhausted, "budget");
  EXPECT_EQ(account.live_bytes(), 3 * chunk);
  EXPECT_OK(slab.copy(row, twin, 2 * kSlabChunk));
}

TEST(SlabLayout, PoisonFillsWhatHoldsNoPosition) {
  MemoryAccount account(0);
  SlabLayout slab(two_layers(), account, true);
  const RowSlot row = slab.add_row();
  ASSERT_OK(slab.reserve(row, 10));
  const auto first_byte = [&](int64_t p) { return slab.run(row, streams()[1], p, p + 1).planes[0][0]; };
  EXPECT_EQ(first_byte(9), std::byte{0xff});
  for (int64_t p = 0; p < 10; ++p) std::memset(slab.run(row, streams()[1], p, p + 1).planes[0], 0, 128);
  slab.shrink(row, 4);
  EXPECT_EQ(first_byte(3), std::byte{0});
  EXPECT_EQ(first_byte(4), std::byte{0xff});
}

}  // namespace
}  // namespace kvern::state
