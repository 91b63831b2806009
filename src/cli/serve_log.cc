#include "cli/serve_log.h"

#include <chrono>
#include <string>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/output.h"

namespace kvern::cli {
namespace {

const char* name_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

}  // namespace

ServeLog::ServeLog(const ServeLogOptions& options, const Clock& clock)
    : options_(options), clock_(clock), text_(make_stderr_log(options.minimum)) {}

void ServeLog::log(LogLevel level, std::string_view message) {
  if (options_.format == LogFormat::kText) return text_->log(level, message);
  if (level >= options_.minimum) write_json_line(level, {{"message", message}});
}

void ServeLog::request(const server::HttpRecord& record) {
  if (LogLevel::kInfo < options_.minimum) return;
  if (options_.format == LogFormat::kText) return text_->log(LogLevel::kInfo, request_log_text(record));
  json::object fields{{"message", "request"}};
  for (auto& [key, value] : request_log_json(record)) fields[key] = std::move(value);
  write_json_line(LogLevel::kInfo, std::move(fields));
}

void ServeLog::write_json_line(LogLevel level, json::object fields) {
  const auto since = clock_.wall_now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
  const auto fraction = std::chrono::duration_cast<std::chrono::milliseconds>(since - seconds).count();
  json::object line{{"time", fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                                         fmt::gmtime(std::time_t{seconds.count()}), fraction)},
                    {"level", name_of(level)}};
  for (auto& [key, value] : fields) line[key] = std::move(value);
  write_stderr(to_json(line) + "\n");
}

}  // namespace kvern::cli
