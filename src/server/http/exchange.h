// One HTTP request and its answer, as a protocol sees them: no sockets, no library types. The transport
// implements Exchange; tests implement it in memory.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvern::server {

/// Names are compared without regard to case.
using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

/// What the generations of one HTTP request used so far, for its line in the log. Any thread.
struct RequestUsage {
  std::atomic<int64_t> prompt_tokens{0};
  std::atomic<int64_t> cached_tokens{0};
  std::atomic<int64_t> generated_tokens{0};
};

struct HttpRequest {
  std::string method;                                      ///< "GET", "POST", ... in capitals
  std::string path;                                        ///< decoded, without the query; begins with "/"
  std::vector<std::pair<std::string, std::string>> query;  ///< decoded, in order
  HttpHeaders headers;
  std::string body;
  /// Parts of the path that the route left open, in order ("/v1/responses/{id}").
  std::vector<std::string> path_values;
  /// Whose key came with the request: a short name that is safe to log; empty without authentication.
  std::string client;
  /// The x-request-id that came, or one made here; sent back with the answer. Two requests may have the same.
  std::string id;
  /// Never null in a request that the transport hands over.
  std::shared_ptr<RequestUsage> usage;

  /// The first header or query value of that name.
  std::optional<std::string_view> header(std::string_view name) const;
  std::optional<std::string_view> query_value(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  HttpHeaders headers;  ///< beside Content-Type, Content-Length, Date and those of the connection
  std::string content_type = "application/json";
  std::string body;
  /// For streams: the transport writes `idle_bytes` whenever nothing else was written for `idle_after`; zero
  /// = never. Keeps clients and proxies from giving up in a long prefill.
  std::string idle_bytes = {};
  std::chrono::milliseconds idle_after{0};
};

/// Either respond() once, or start_stream(), write() any number of times, end(). Thread-safe: an answer may
/// come from any thread, at any time. What comes after the client has gone is dropped. Destroying the last
/// reference without an answer closes the connection.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const HttpRequest& request() const = 0;
  virtual void respond(HttpResponse response) = 0;
  /// Sends the head at once; the body is chunked.
  virtual void start_stream(HttpResponse head) = 0;
  /// Queues bytes and returns: a slow reader makes the queue longer and nothing else. When it exceeds the
  /// transport's limit the connection is closed.
  virtual void write(std::string bytes) = 0;
  /// An event of a stream, with its number among the events that count; the same as write() where nobody
  /// reads a stream twice.
  virtual void write_event(uint64_t number, std::string event) {
    static_cast<void>(number);
    write(std::move(event));
  }
  virtual void end() = 0;
  /// For makers of long streams that may wait: until little is queued. How many bytes write() takes now
  /// without closing the connection; 0 when the client has gone, or nothing is streamed.
  virtual size_t wait_for_room() { return SIZE_MAX; }
  /// Called once, on any thread, when the client has gone before the answer's end; at once if it has already.
  /// Must return at once. Several may be registered; all are dropped when the answer has ended.
  virtual void on_close(std::function<void()> callback) = 0;
};

/// Called on a worker thread: may compute and read, must not wait for a generation.
using Handler = std::function<void(std::shared_ptr<Exchange> exchange)>;

}  // namespace kvern::server
