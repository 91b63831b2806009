#include "state/layout/layout.h"

#include <gtest/gtest.h>

#include "state/layout/layout_scene.h"
#include "support/result_matchers.h"

namespace kvern::state {
namespace {

constexpr LayoutKind kAll[] = {LayoutKind::kSlab, LayoutKind::kRing, LayoutKind::kPaged, LayoutKind::kPadded};

TEST(Layout, NamesAreReadBack) {
  for (const LayoutKind kind : kAll) {
    ASSERT_OK_AND_ASSIGN(const LayoutKind read, parse_layout(to_string(kind)));
    EXPECT_EQ(read, kind);
  }
  EXPECT_EQ(to_string(LayoutKind::kPaged), "paged");
}

TEST(Layout, AnUnknownNameIsAnsweredWithThePossibleOnes) {
  for (const char* text : {"", "Paged", "pages", "slab ", "contiguous"}) {
    EXPECT_ERROR(parse_layout(text), kInvalidArgument, "possible are slab, ring, paged and padded");
  }
}

TEST(Layout, PagesHaveFiveSizes) {
  for (const int64_t page : {16, 32, 64, 128, 256}) EXPECT_OK(check_page(page));
  for (const int64_t page : {int64_t{-16}, int64_t{0}, int64_t{1}, int64_t{8}, int64_t{17}, int64_t{96},
                             int64_t{512}, int64_t{1} << 40}) {
    EXPECT_ERROR(check_page(page), kInvalidArgument, "possible are 16, 32, 64, 128 and 256");
  }
}

TEST(Layout, EveryKindIsMade) {
  for (const LayoutKind kind : kAll) {
    MemoryAccount account(0);
    const auto layout = make_layout({.kind = kind}, {.geometry = test::odd_geometry()}, account);
    const RowSlot row = layout->add_row();
    ASSERT_OK(layout->extend(row, 100));
    EXPECT_EQ(layout->usage().live, layout->row_bytes({0, 100}));
    EXPECT_GE(layout->row_bytes({0, 100}), 100 * test::odd_geometry().bytes_per_token());
  }
}

}  // namespace
}  // namespace kvern::state
