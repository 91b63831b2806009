// The server's log on stderr: lines for people, or JSON lines for programs.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "server/app/request_log.h"

namespace kvern::cli {

enum class LogFormat { kText, kJson };

struct ServeLogOptions {
  LogLevel minimum = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
};

/// Thread-safe: a line is written by one call.
class ServeLog : public LogSink, public server::RequestLog {
 public:
  /// The clock outlives it.
  ServeLog(const ServeLogOptions& options, const Clock& clock);
  void log(LogLevel level, std::string_view message) override;
  void request(const server::HttpRecord& record) override;

 private:
  void write_json_line(LogLevel level, json::object fields);

  const ServeLogOptions options_;
  const Clock& clock_;
  const std::unique_ptr<LogSink> text_;
};

}  // namespace kvern::cli
