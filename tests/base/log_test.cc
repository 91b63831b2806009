// The log on stderr: one line a message, from the level up.
#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvern {
namespace {

TEST(StderrLog, writes_a_line_with_time_and_level) {
  testing::internal::CaptureStderr();
  make_stderr_log(LogLevel::kInfo)->log(LogLevel::kWarning, "the {} disk");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::MatchesRegex("....-..-..T..:..:..\\.... warning the \\{\\} disk\n"));
}

TEST(StderrLog, drops_what_is_below_its_level) {
  testing::internal::CaptureStderr();
  const auto log = make_stderr_log(LogLevel::kWarning);
  log->log(LogLevel::kDebug, "a");
  log->log(LogLevel::kInfo, "b");
  log->log(LogLevel::kError, "c");
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_THAT(written, testing::HasSubstr("error c\n"));
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 1);
}

TEST(NullLog, drops_everything) {
  testing::internal::CaptureStderr();
  null_log().log(LogLevel::kError, "x");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace kvern
