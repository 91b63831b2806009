// When a server is left alone, and for how long.
#include "store/remote/circuit_breaker.h"

#include <gtest/gtest.h>

namespace kvern::store {
namespace {

using std::chrono::milliseconds;

struct Breaker : testing::Test {
  ManualClock clock{std::chrono::system_clock::time_point()};
  CircuitBreaker breaker{
      clock, {.failures = 2, .first_pause = milliseconds(100), .longest_pause = milliseconds(350)}};
};

TEST_F(Breaker, OpensAfterFailuresInARowOnly) {
  EXPECT_TRUE(breaker.may_call());
  EXPECT_FALSE(breaker.failed());
  EXPECT_FALSE(breaker.succeeded());
  EXPECT_FALSE(breaker.failed());
  EXPECT_TRUE(breaker.may_call());
  EXPECT_TRUE(breaker.failed());
  EXPECT_FALSE(breaker.may_call());
  EXPECT_FALSE(breaker.may_call_now());
}

TEST_F(Breaker, LetsOneTryAfterEachPauseWhichGrows) {
  breaker.failed();
  breaker.failed();
  for (const int pause : {100, 200, 350, 350}) {
    clock.advance(milliseconds(pause - 1));
    EXPECT_FALSE(breaker.may_call()) << pause;
    clock.advance(milliseconds(1));
    EXPECT_TRUE(breaker.may_call_now());
    EXPECT_TRUE(breaker.may_call());
    EXPECT_FALSE(breaker.may_call_now());
    EXPECT_FALSE(breaker.may_call());
    EXPECT_FALSE(breaker.failed());
  }
  clock.advance(milliseconds(350));
  EXPECT_TRUE(breaker.may_call());
  EXPECT_TRUE(breaker.succeeded());
  EXPECT_TRUE(breaker.may_call());
  // And from the beginning.
  breaker.failed();
  breaker.failed();
  clock.advance(milliseconds(100));
  EXPECT_TRUE(breaker.may_call());
}

}  // namespace
}  // namespace kvern::store
