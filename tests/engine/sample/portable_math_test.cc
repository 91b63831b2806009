#include "engine/sample/portable_math.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "engine/sample/philox.h"

namespace kvern::engine {
namespace {

/// Error in units in the last place of the exact result, which is taken from the C library in long double (64
/// bits of significand on x86; where long double is double, the library's own error is added).
double ulps(double got, long double exact) {
  const auto rounded = static_cast<double>(exact);
  const double ulp =
      std::nextafter(std::abs(rounded), std::numeric_limits<double>::infinity()) - std::abs(rounded);
  return static_cast<double>(std::abs(static_cast<long double>(got) - exact) / ulp);
}

double random_in(double low, double high, uint64_t index) {
  return low + (high - low) * draw_for_position(11, index).token;
}

TEST(PortableMathTest, ExpIsWithinTwoUnitsInTheLastPlace) {
  double worst = 0;
  for (uint64_t i = 0; i < 200000; ++i) {
    const double x = i % 2 == 0 ? random_in(-708, 709, i) : random_in(-20, 1, i);
    worst = std::max(worst, ulps(portable_exp(x), std::exp(static_cast<long double>(x))));
  }
  EXPECT_LE(worst, 2);
}

TEST(PortableMathTest, LogIsWithinTwoUnitsInTheLastPlace) {
  double worst = 0;
  for (uint64_t i = 0; i < 200000; ++i) {
    const double x = i % 2 == 0 ? std::exp(random_in(-700, 700, i)) : random_in(0.25, 4, i);
    worst = std::max(worst, ulps(portable_log(x), std::log(static_cast<long double>(x))));
  }
  EXPECT_LE(worst, 2);
}

TEST(PortableMathTest, ExactValuesAreExact) {
  EXPECT_EQ(portable_exp(0), 1);
  EXPECT_EQ(portable_log(1), 0);
  EXPECT_EQ(portable_exp(-709), 0);
  EXPECT_EQ(portable_exp(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_EQ(portable_exp(-1e300), 0);
  EXPECT_EQ(portable_exp(710), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isfinite(portable_exp(709)));
  EXPECT_GT(portable_exp(-708), 0);
  EXPECT_TRUE(std::isfinite(portable_log(std::numeric_limits<double>::max())));
  EXPECT_NEAR(portable_log(std::numeric_limits<double>::min()), -708.396, 1e-3);
}

// These bits hold on every machine and compiler; a difference would change what seeds mean.
TEST(PortableMathTest, BitsAreFixed) {
  EXPECT_EQ(portable_exp(1), 0x1.5bf0a8b14576ap+1);
  EXPECT_EQ(portable_exp(-0.1), 0x1.cf46d99d52b3ap-1);
  EXPECT_EQ(portable_log(10), 0x1.26bb1bbb55516p+1);
  EXPECT_EQ(portable_log(0.3), -0x1.34378fcbda721p+0);
}

}  // namespace
}  // namespace kvern::engine
