// int(), float(), round() and repr() of floats, with values from Python.
#include "text/template/number_text.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "text/template/printing.h"

namespace kvern::jinja {
namespace {

TEST(NumberText, IntegersAsPythonReadsThem) {
  EXPECT_EQ(parse_integer(" -1_000 ", 10), -1000);
  EXPECT_EQ(parse_integer("0x1f", 16), 31);
  EXPECT_EQ(parse_integer("0b11", 0), 3);
  EXPECT_EQ(parse_integer("9223372036854775807", 10), INT64_MAX);
  for (const char* bad : {"", "-", "1__0", "_1", "1_", "0x1f", "1.5", "--1", "9223372036854775808", "1 2"}) {
    EXPECT_FALSE(parse_integer(bad, 10).has_value()) << bad;
  }
}

TEST(NumberText, FloatsAsPythonReadsThem) {
  EXPECT_EQ(parse_float(" 1_0.5e-1 "), 1.05);
  EXPECT_EQ(parse_float("+.5"), 0.5);
  EXPECT_EQ(parse_float("-inf"), -HUGE_VAL);
  EXPECT_EQ(parse_float("1e999"), HUGE_VAL);
  EXPECT_EQ(parse_float("1e-999"), 0.0);
  EXPECT_TRUE(std::isnan(*parse_float("nan")));
  for (const char* bad : {"", "x", "1e", "1..2", "+-1", "0x10", "nan(1)"}) {
    EXPECT_FALSE(parse_float(bad).has_value()) << bad;
  }
}

TEST(NumberText, RoundingIsCorrectOfTheBinaryValueAndHalvesGoToEven) {
  EXPECT_EQ(round_decimal(2.675, 2), 2.67);
  EXPECT_EQ(round_decimal(0.125, 2), 0.12);
  EXPECT_EQ(round_decimal(2.5, 0), 2.0);
  EXPECT_EQ(round_decimal(1234567.891, -2), 1234600.0);
  EXPECT_EQ(round_decimal(1e300, 2), 1e300);
  EXPECT_EQ(round_decimal(1e300, -400), 0.0);
}

RC_GTEST_PROP(NumberText, ReprReadsBackAsTheSameBits, (uint64_t bits)) {
  const auto value = std::bit_cast<double>(bits);
  RC_PRE(std::isfinite(value));
  RC_ASSERT(std::bit_cast<uint64_t>(*parse_float(float_repr(value))) == bits);
}

}  // namespace
}  // namespace kvern::jinja
