#include "state/layout/ring.h"

#include <gtest/gtest.h>

#include "state/layout/layout_scene.h"
#include "support/result_matchers.h"

namespace kvern::state {
namespace {

using test::LayoutScene;

StoreSpec window(int64_t tail, int64_t head_end = 0) {
  return {.geometry = test::odd_geometry(), .head_end = head_end, .tail = tail};
}

size_t bytes_of(int64_t positions) { return PageFormat(test::odd_geometry(), positions).bytes(); }

LayoutScene ring_scene(StoreSpec spec) {
  return {{.kind = LayoutKind::kRing, .poison = true}, std::move(spec)};
}

TEST(RingLayout, AFullRingHasRoomForAStep) {
  LayoutScene scene = ring_scene(window(12));
  const size_t row = scene.add();
  ASSERT_TRUE(scene.extend(row, 12));
  EXPECT_EQ(scene.account().live_bytes(), bytes_of(12 + kRingRoom));
  // 1000 rounds that bring four tokens and keep one: nothing is allocated.
  scene.account().fail_after(0);
  for (int64_t length = 12; length < 1012; ++length) {
    ASSERT_TRUE(scene.extend(row, length + 4));
    scene.cut(row, length + 1);
    scene.drop(row, length + 1 - 12);
    ASSERT_TRUE(scene.check()) << scene.problem();
  }
}

// Case B01: the row can be cut back as far as the ring holds its window, after any number of turns.
TEST(RingLayout, AWrappedRingIsCutAndGoesOn) {
  LayoutScene scene = ring_scene(window(12));
  const size_t row = scene.add();
  for (int64_t length = 1; length <= 200; ++length) {
    ASSERT_TRUE(scene.extend(row, length));
    scene.drop(row, std::max<int64_t>(0, length - 12));
    if (length % 20 == 0) {
      scene.cut(row, length - 3);
      ASSERT_TRUE(scene.check()) << scene.problem();
      ASSERT_TRUE(scene.extend(row, length));
    }
    ASSERT_TRUE(scene.check()) << scene.problem();
  }
}

// Case B03: nothing that is held is lost in a step that is larger than the ring.
TEST(RingLayout, ALargeStepMakesTheRingLargerUntilItEnds) {
  LayoutScene scene = ring_scene(window(12));
  const size_t row = scene.add();
  ASSERT_TRUE(scene.extend(row, 11));
  const size_t before = scene.account().live_bytes();
  ASSERT_TRUE(scene.extend(row, 600));
  EXPECT_EQ(scene.account().live_bytes(), bytes_of(3 * kRingStep));
  ASSERT_TRUE(scene.check()) << scene.problem();
  scene.drop(row, 588);
  EXPECT_EQ(scene.account().live_bytes(), before);
  ASSERT_TRUE(scene.check()) << scene.problem();
}

TEST(RingLayout, AStepThatIsTakenBackLeavesTheRingAsItWas) {
  LayoutScene scene = ring_scene(window(12));
  const size_t row = scene.add();
  ASSERT_TRUE(scene.extend(row, 30));
  scene.drop(row, 18);
  const size_t before = scene.account().live_bytes();
  ASSERT_TRUE(scene.extend(row, 900));
  scene.cut(row, 30);
  EXPECT_EQ(scene.account().live_bytes(), before);
  ASSERT_TRUE(scene.check()) << scene.problem();
}

// Case B06: what never leaves lies apart.
TEST(RingLayout, TheHeadStaysWhileTheRingGoesRound) {
  LayoutScene scene = ring_scene(window(12, 2));
  const size_t row = scene.add();
  for (int64_t length = 1; length <= 100; ++length) {
    ASSERT_TRUE(scene.extend(row, length));
    scene.drop(row, std::max<int64_t>(0, length - 12));
    ASSERT_TRUE(scene.check()) << scene.problem();
  }
  EXPECT_TRUE(scene.rows()[row].tags.contains(0));
  EXPECT_TRUE(scene.rows()[row].tags.contains(1));
  EXPECT_FALSE(scene.rows()[row].tags.contains(2));
  scene.cut(row, 97);
  ASSERT_TRUE(scene.extend(row, 98));
  ASSERT_TRUE(scene.check()) << scene.problem();
}

TEST(RingLayout, ARingThatCannotShrinkTriesAgain) {
  LayoutScene scene = ring_scene(window(12));
  const size_t row = scene.add();
  ASSERT_TRUE(scene.extend(row, 1000));
  scene.account().fail_after(0);
  scene.drop(row, 990);
  EXPECT_EQ(scene.account().live_bytes(), bytes_of(4 * kRingStep));
  scene.account().fail_after();
  ASSERT_TRUE(scene.extend(row, 1001));
  EXPECT_EQ(scene.account().live_bytes(), bytes_of(12 + kRingRoom));
  ASSERT_TRUE(scene.check()) << scene.problem();
}

TEST(RingLayout, WithoutATailItGrowsByHalvesAndNeverWraps) {
  LayoutScene scene = ring_scene(window(0));
  const size_t row = scene.add();
  size_t changes = 0;
  size_t last = 0;
  for (int64_t length = 1; length <= 9000; length += 7) {
    ASSERT_TRUE(scene.extend(row, length));
    changes += scene.account().live_bytes() != last ? 1 : 0;
    last = scene.account().live_bytes();
    ASSERT_LE(last, bytes_of(std::max<int64_t>(kRingStep, length * 3 / 2 + 1)));
  }
  EXPECT_LE(changes, 12U);
  EXPECT_TRUE(scene.check()) << scene.problem();
}

TEST(RingLayout, ATileIsAtMostTwoRunsBehindTheHead) {
  MemoryAccount account(0);
  RingLayout ring(window(100, 10), account, false);
  const RowSlot row = ring.add_row();
  ASSERT_OK(ring.extend(row, 110));
  for (int64_t length = 110; length < 1000; ++length) {
    ASSERT_OK(ring.extend(row, length));
    ring.drop(row, length - 100);
    for (int64_t begin = std::max<int64_t>(10, length - 100); begin < length;) {
      const int64_t end = std::min(length, round_up(begin + 1, kTile));
      RunList runs;
      ring.collect(row, {LayerIndex{0}, 0, KvSide::kKey}, begin, end, runs);
      ASSERT_LE(EncodedRuns(runs).size(), 2U);
      begin = end;
    }
  }
}

}  // namespace
}  // namespace kvern::state
