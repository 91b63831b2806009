#include "server/app/request_log.h"

#include <cmath>

#include <fmt/format.h>

namespace kvern::server {
namespace {

double milliseconds(const HttpRecord& record) {
  return static_cast<double>(record.duration.count()) / 1000.0;
}

bool has_tokens(const HttpRecord& record) {
  return record.usage && (record.usage->prompt_tokens > 0 || record.usage->generated_tokens > 0);
}

/// What came from outside may hold anything: only what cannot be taken for another field stays.
std::string safe(const std::string& text) {
  if (text.empty()) return "-";
  std::string out;
  for (const char c : text.substr(0, 128)) out += c > 0x20 && c < 0x7F && c != '=' && c != '"' ? c : '_';
  return out;
}

}  // namespace

std::string request_log_text(const HttpRecord& record) {
  std::string line =
      fmt::format("request id={} client={} peer={} method={} route={} status={} ms={:.1f} bytes={}",
                  safe(record.id), safe(record.client), safe(record.peer), safe(record.method),
                  safe(record.route), record.answer.status, milliseconds(record), record.answer.bytes);
  if (has_tokens(record)) {
    line += fmt::format(" prompt_tokens={} cached_tokens={} generated_tokens={}",
                        record.usage->prompt_tokens.load(), record.usage->cached_tokens.load(),
                        record.usage->generated_tokens.load());
  }
  if (!record.answer.whole) line += " whole=false";
  return line;
}

json::object request_log_json(const HttpRecord& record) {
  json::object line{{"id", record.id},
                    {"client", record.client},
                    {"peer", record.peer},
                    {"method", record.method},
                    {"route", record.route},
                    {"status", record.answer.status},
                    {"ms", std::round(milliseconds(record) * 10) / 10},
                    {"bytes", record.answer.bytes},
                    {"whole", record.answer.whole}};
  if (has_tokens(record)) {
    line["prompt_tokens"] = record.usage->prompt_tokens.load();
    line["cached_tokens"] = record.usage->cached_tokens.load();
    line["generated_tokens"] = record.usage->generated_tokens.load();
  }
  return line;
}

}  // namespace kvern::server
