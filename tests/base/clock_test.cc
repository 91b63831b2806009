#include "base/clock.h"

#include <gtest/gtest.h>

namespace kvern {
namespace {

using std::chrono::hours;
using std::chrono::system_clock;

TEST(SystemClock, does_not_go_back) {
  const auto clock = make_system_clock();
  const auto before = clock->now();
  EXPECT_LE(before, clock->now());
  EXPECT_LT(std::chrono::abs(clock->wall_now() - system_clock::now()), hours(1));
}

TEST(ManualClock, stands_still_until_moved) {
  ManualClock clock{system_clock::time_point(hours(100))};
  const auto before = clock.now();
  EXPECT_EQ(clock.now(), before);
  EXPECT_EQ(clock.wall_now().time_since_epoch(), hours(100));
  clock.advance(hours(2));
  EXPECT_EQ(clock.now() - before, hours(2));
  EXPECT_EQ(clock.wall_now().time_since_epoch(), hours(102));
}

}  // namespace
}  // namespace kvern
