// Dates, against what Python's strftime gives.
#include "text/template/strftime.h"

#include <gtest/gtest.h>

namespace kvern::jinja {
namespace {

using namespace std::chrono;

std::string format(year_month_day date, const std::string& pattern) {
  return format_time(sys_days{date} + 15h + 4min + 5s, pattern).value_or("error");
}

TEST(Strftime, NamesAndNumbersOfDatesAndTimes) {
  const year_month_day date = 2024y / February / 9;
  EXPECT_EQ(format(date, "%A %a %B %b %d %-d %e %m %-m %Y %y %H %I %M %S %p %j %%"),
            "Friday Fri February Feb 09 9  9 02 2 2024 24 15 03 04 05 PM 040 %");
  EXPECT_EQ(format(date, "%F %T %D %R %Z %z"), "2024-02-09 15:04:05 02/09/24 15:04 UTC +0000");
  EXPECT_EQ(format(date, "%c"), "Fri Feb  9 15:04:05 2024");
}

TEST(Strftime, WeeksAroundTheTurnOfTheYear) {
  EXPECT_EQ(format(2024y / December / 30, "%G-W%V-%u %U %W"), "2025-W01-1 52 53");
  EXPECT_EQ(format(2021y / January / 1, "%G-W%V-%u %U %W"), "2020-W53-5 00 00");
  EXPECT_EQ(format(2020y / December / 31, "%G-W%V-%u %U %W"), "2020-W53-4 52 52");
  EXPECT_EQ(format(2026y / January / 4, "%G-W%V-%u %U %W"), "2026-W01-7 01 00");
}

TEST(Strftime, WhatItDoesNotKnowIsAnError) {
  EXPECT_FALSE(format_time({}, "%Q").has_value());
  EXPECT_FALSE(format_time({}, "%").has_value());
  EXPECT_FALSE(format_time({}, std::string(1000, 'x')).has_value());
}

}  // namespace
}  // namespace kvern::jinja
