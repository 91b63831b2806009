#include "state/layout/paged.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "state/layout/layout_scene.h"
#include "support/result_matchers.h"

namespace kvern::state {
namespace {

constexpr int64_t kPage = 16;

class PagedLayoutTest : public testing::Test {
 protected:
  explicit PagedLayoutTest(StoreSpec spec = {.geometry = test::odd_geometry()})
      : paged_(std::move(spec), account_, kPage, false) {}

  std::byte* record(RowSlot row, int64_t position) {
    RunList runs;
    paged_.collect(row, {LayerIndex{0}, 1, KvSide::kKey}, position, position + 1, runs);
    return EncodedRuns(runs).front().planes[0];
  }
  RowSlot row_of(int64_t length) {
    const RowSlot row = paged_.add_row();
    EXPECT_OK(paged_.extend(row, length));
    for (int64_t p = 0; p < length; ++p) *record(row, p) = static_cast<std::byte>(p);
    return row;
  }
  size_t pages(size_t bytes) const { return bytes / PageFormat(test::odd_geometry(), kPage).bytes(); }
  size_t live() const { return pages(paged_.usage().live); }
  size_t shared() const { return pages(paged_.usage().shared); }

  MemoryAccount account_{0};
  PagedLayout paged_;
};

TEST_F(PagedLayoutTest, AForkSharesEveryPageAndTakesNoMemory) {
  const RowSlot row = row_of(5 * kPage + 3);
  const RowSlot twin = paged_.add_row();
  account_.fail_after(0);
  ASSERT_OK(paged_.fork(row, twin));
  EXPECT_EQ(live(), 6U);
  EXPECT_EQ(shared(), 6U);
  for (int64_t p = 0; p < 5 * kPage + 3; ++p) EXPECT_EQ(record(row, p), record(twin, p));
}

TEST_F(PagedLayoutTest, ExtendingCopiesThePageThatWillBeWrittenAndNoOther) {
  const RowSlot row = row_of(2 * kPage + 3);
  const RowSlot twin = paged_.add_row();
  ASSERT_OK(paged_.fork(row, twin));
  ASSERT_OK(paged_.extend(twin, 2 * kPage + 4));
  EXPECT_EQ(live(), 4U);
  EXPECT_EQ(shared(), 2U);
  EXPECT_EQ(record(row, 2 * kPage - 1), record(twin, 2 * kPage - 1));
  EXPECT_NE(record(row, 2 * kPage), record(twin, 2 * kPage));
  EXPECT_EQ(*record(twin, 2 * kPage + 2), static_cast<std::byte>(2 * kPage + 2));
  // The first row is alone in its page now, and grows in place.
  const std::byte* before = record(row, 2 * kPage);
  ASSERT_OK(paged_.extend(row, 2 * kPage + 4));
  EXPECT_EQ(record(row, 2 * kPage), before);
  EXPECT_EQ(live(), 4U);
}

TEST_F(PagedLayoutTest, ExtendingAtTheBorderOfAPageCopiesNothing) {
  const RowSlot row = row_of(2 * kPage);
  const RowSlot twin = paged_.add_row();
  ASSERT_OK(paged_.fork(row, twin));
  ASSERT_OK(paged_.extend(twin, 2 * kPage + 1));
  EXPECT_EQ(live(), 3U);
  EXPECT_EQ(shared(), 2U);
}

TEST_F(PagedLayoutTest, ExtendingByNothingCopiesNothing) {
  const RowSlot row = row_of(3);
  const RowSlot twin = paged_.add_row();
  ASSERT_OK(paged_.fork(row, twin));
  ASSERT_OK(paged_.extend(twin, 3));
  EXPECT_EQ(live(), 1U);
}

TEST_F(PagedLayoutTest, ACutRowGetsItsPagesAgain) {
  const RowSlot row = row_of(10 * kPage);
  std::vector<std::byte*> before;
  for (int64_t p = 0; p < 10 * kPage; p += kPage) before.push_back(record(row, p));
  paged_.cut(row, 3 * kPage);
  EXPECT_EQ(live(), 3U);
  ASSERT_OK(paged_.extend(row, 10 * kPage));
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(record(row, static_cast<int64_t>(i) * kPage), before[i]);
}

TEST_F(PagedLayoutTest, AFailedCopyChangesNothing) {
  const RowSlot row = row_of(3);
  const RowSlot twin = paged_.add_row();
  ASSERT_OK(paged_.fork(row, twin));
  // All other pages are taken.
  const RowSlot other = paged_.add_row();
  ASSERT_OK(paged_.extend(other, static_cast<int64_t>(pages(paged_.usage().slack)) * kPage));
  account_.fail_after(0);
  EXPECT_ERROR(paged_.extend(twin, 4), kExhausted, "");
  account_.fail_after();
  EXPECT_EQ(paged_.held(twin).length, 3);
  EXPECT_EQ(record(twin, 2), record(row, 2));
}

TEST_F(PagedLayoutTest, ASharedPageLivesUntilItsLastRowLeaves) {
  const RowSlot row = row_of(kPage);
  const RowSlot twin = paged_.add_row();
  ASSERT_OK(paged_.fork(row, twin));
  paged_.remove_row(row);
  EXPECT_EQ(live(), 1U);
  EXPECT_EQ(*record(twin, 7), std::byte{7});
  paged_.remove_row(twin);
  EXPECT_EQ(live(), 0U);
}

class PagedWindowTest : public PagedLayoutTest {
 protected:
  PagedWindowTest() : PagedLayoutTest({.geometry = test::odd_geometry(), .head_end = 2, .tail = 40}) {}
};

TEST_F(PagedWindowTest, DroppedPagesAreHoles) {
  const RowSlot row = row_of(100 * kPage);
  paged_.drop(row, 50 * kPage + 1);
  EXPECT_EQ(live(), 51U);  // the head's, and 50 to 99
  paged_.drop(row, 99 * kPage);
  EXPECT_EQ(live(), 2U);
  EXPECT_EQ(*record(row, 1), std::byte{1});
  EXPECT_EQ(*record(row, 100 * kPage - 1), static_cast<std::byte>(100 * kPage - 1));
  EXPECT_EQ(paged_.row_bytes(paged_.held(row)), paged_.usage().live);
}

TEST_F(PagedWindowTest, AForkThatDropsLeavesTheOtherItsPages) {
  const RowSlot row = row_of(10 * kPage);
  const RowSlot twin = paged_.add_row();
  ASSERT_OK(paged_.fork(row, twin));
  paged_.drop(twin, 9 * kPage);
  EXPECT_EQ(live(), 10U);
  EXPECT_EQ(shared(), 2U);
  EXPECT_EQ(*record(row, 5 * kPage), static_cast<std::byte>(5 * kPage));
}

}  // namespace
}  // namespace kvern::state
