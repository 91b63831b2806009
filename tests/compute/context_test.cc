#include "compute/context.h"

#include <cstring>

#include <gtest/gtest.h>

namespace kvern::compute {
namespace {

TEST(Scratch, IsAlignedAndGrowsButNeverShrinks) {
  Scratch scratch;
  std::byte* small = scratch.get(10);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(small) % 64, 0U);
  std::memset(small, 1, 10);
  std::byte* large = scratch.get(1 << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large) % 64, 0U);
  std::memset(large, 2, 1 << 20);
  EXPECT_EQ(scratch.get(100), large) << "a smaller request takes what is there";
}

TEST(Context, GivesEachThreadAScratchOfItsOwn) {
  Context context(*best_target(), 3);
  EXPECT_EQ(context.pool().threads(), 3);
  const auto* a = context.thread_scratch(0).get(64);
  const auto* b = context.thread_scratch(2).get(64);
  const auto* shared = context.shared_scratch().get(64);
  EXPECT_NE(a, b);
  EXPECT_NE(a, shared);
  EXPECT_EQ(context.target(), *best_target());
}

}  // namespace
}  // namespace kvern::compute
