// Storage beyond 4 GiB: no offset is of 32 bits. Nearly all of it is never touched, so it takes no memory.
#include <cstring>

#include <gtest/gtest.h>

#include "state/layout/layout_scene.h"
#include "support/result_matchers.h"

namespace kvern::state {
namespace {

constexpr size_t kRecord = size_t{8} << 20;
constexpr int64_t kTokens = 900;
constexpr int64_t kPositions[] = {0, 1, 15, 16, 255, 256, 511, 512, 513, 767, 899};

std::byte* record(const Layout& layout, RowSlot slot, int64_t position) {
  RunList runs;
  layout.collect(slot, {.layer = LayerIndex{0}, .kv_head = 1, .side = KvSide::kKey}, position, position + 1,
                 runs);
  return EncodedRuns(runs)[0].planes[0];
}

class FarStorage : public testing::TestWithParam<LayoutKind> {};
// The padded layout clears its tensors, which takes as much memory as there is storage.
INSTANTIATE_TEST_SUITE_P(Layouts, FarStorage,
                         testing::Values(LayoutKind::kSlab, LayoutKind::kRing, LayoutKind::kPaged));

TEST_P(FarStorage, GivesBackWhatWasWritten) {
  MemoryAccount account(0);
  StoreSpec spec;
  spec.geometry.layers = {{2, test::side_of({kRecord / 2}), test::side_of({16})}};
  const auto layout = make_layout({.kind = GetParam(), .page = 16}, spec, account);
  const RowSlot slot = layout->add_row();
  const Status assigned = layout->assign(slot, {0, kTokens});
  if (!assigned) GTEST_SKIP() << "this machine does not promise so much: " << assigned.error().to_string();
  ASSERT_GT(account.live_bytes(), size_t{7} << 30);
  for (const int64_t position : kPositions)
    std::memcpy(record(*layout, slot, position), &position, sizeof position);
  for (const int64_t position : kPositions) {
    int64_t read = -1;
    std::memcpy(&read, record(*layout, slot, position), sizeof read);
    EXPECT_EQ(read, position);
  }
}

}  // namespace
}  // namespace kvern::state
