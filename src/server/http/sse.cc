#include "server/http/sse.h"

#include "base/check.h"

namespace kvern::server {
namespace {

/// The standard ends lines at \n, \r and \r\n alike.
void append_data(std::string& out, std::string_view data) {
  for (;;) {
    const size_t end = data.find_first_of("\r\n");
    out += "data: ";
    out += data.substr(0, end);
    out += '\n';
    if (end == std::string_view::npos) return;
    const bool both = data.substr(end, 2) == "\r\n";
    data.remove_prefix(end + (both ? 2 : 1));
  }
}

}  // namespace

HttpResponse sse_head(std::chrono::milliseconds ping_after) {
  HttpResponse head;
  head.content_type = "text/event-stream";
  head.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
  head.idle_bytes = ": ping\n\n";
  head.idle_after = ping_after;
  return head;
}

std::string sse_event(std::string_view data) {
  std::string out;
  out.reserve(data.size() + 16);
  append_data(out, data);
  out += '\n';
  return out;
}

std::string sse_event(std::string_view name, std::string_view data) {
  KVERN_CHECK(name.find_first_of("\r\n") == std::string_view::npos);
  std::string out = "event: ";
  out += name;
  out += '\n';
  return out + sse_event(data);
}

}  // namespace kvern::server
