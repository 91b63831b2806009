// Where messages for the operator go. Nothing below cli/ prints; it is given a LogSink.
#pragma once

#include <memory>
#include <string_view>

namespace kvern {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Receives finished lines. Implementations are thread-safe.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void log(LogLevel level, std::string_view message) = 0;
};

/// Drops everything.
LogSink& null_log();
/// Lines on stderr with time and level (spdlog), from `minimum` up.
std::unique_ptr<LogSink> make_stderr_log(LogLevel minimum);

}  // namespace kvern
