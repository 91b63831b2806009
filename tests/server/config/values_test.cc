#include "server/config/values.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/result_matchers.h"

namespace kvern::server {
namespace {

using std::chrono::milliseconds;

TEST(Values, SizesArePowersOf1024) {
  const std::pair<const char*, size_t> cases[] = {{"0", 0},
                                                  {"123", 123},
                                                  {"1B", 1},
                                                  {"2K", 2048},
                                                  {"512KiB", 524288},
                                                  {"1.5G", 1610612736},
                                                  {"2 GiB", 2147483648},
                                                  {"1MB", 1048576},
                                                  {"1T", size_t{1} << 40}};
  for (const auto& [text, bytes] : cases) {
    ASSERT_OK_AND_ASSIGN(const size_t parsed, parse_bytes(text));
    EXPECT_EQ(parsed, bytes) << text;
  }
}

TEST(Values, TimesAreSecondsUnlessTheySayOtherwise) {
  const std::pair<const char*, int> cases[] = {{"30", 30'000},   {"30s", 30'000},   {"500ms", 500},
                                               {"1.5m", 90'000}, {"2h", 7'200'000}, {"0", 0}};
  for (const auto& [text, ms] : cases) {
    ASSERT_OK_AND_ASSIGN(const milliseconds parsed, parse_duration(text));
    EXPECT_EQ(parsed.count(), ms) << text;
  }
}

TEST(Values, OtherTextsAreErrors) {
  for (const char* text :
       {"", "x", "-1", "-0", "1X", "1KB2", "1e3", "inf", "nan", "GiB", "1 1", "99999999999999999999T"})
    EXPECT_ERROR(parse_bytes(text), kInvalidArgument, "512MiB") << text;
  for (const char* text : {"", "s", "-1s", "1d", "1e3", "inf", "1mss", "9999999999999h"})
    EXPECT_ERROR(parse_duration(text), kInvalidArgument, "30s") << text;
}

RC_GTEST_PROP(Values, WhatIsWrittenIsReadBack, (uint32_t number)) {
  RC_ASSERT(parse_bytes(bytes_text(number)).value() == number);
  RC_ASSERT(parse_bytes(bytes_text(size_t{number} << 20)).value() == size_t{number} << 20);
  RC_ASSERT(parse_duration(duration_text(milliseconds(number))).value() == milliseconds(number));
}

}  // namespace
}  // namespace kvern::server
