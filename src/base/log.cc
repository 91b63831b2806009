#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>

namespace kvern {
namespace {

class NullLog : public LogSink {
 public:
  void log(LogLevel /*level*/, std::string_view /*message*/) override {}
};

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

class StderrLog : public LogSink {
 public:
  explicit StderrLog(LogLevel minimum)
      : logger_("kvern", std::make_shared<spdlog::sinks::stderr_color_sink_mt>()) {
    logger_.set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
    logger_.set_level(spdlog_level(minimum));
    logger_.flush_on(spdlog::level::trace);
  }

  void log(LogLevel level, std::string_view message) override {
    logger_.log(spdlog_level(level), spdlog::string_view_t(message.data(), message.size()));
  }

 private:
  // Its own logger, not one of spdlog's process-wide registry.
  spdlog::logger logger_;
};

}  // namespace

LogSink& null_log() {
  static NullLog log;  // Has no state.
  return log;
}

std::unique_ptr<LogSink> make_stderr_log(LogLevel minimum) { return std::make_unique<StderrLog>(minimum); }

}  // namespace kvern
