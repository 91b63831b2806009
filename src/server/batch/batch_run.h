// Runs the requests of a batch file through the server's routes, without a network.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/clock.h"
#include "base/result.h"
#include "server/batch/batch_line.h"
#include "server/batch/line_reader.h"
#include "server/batch/result_file.h"
#include "server/http/exchange.h"
#include "server/http/router.h"
#include "server/protocol/local_exchange.h"

namespace kvern::server {

/// Lines of one run. done counts results that were written, failed those of them without a 2xx answer.
struct BatchCounts {
  int64_t done = 0;
  int64_t failed = 0;
  int64_t skipped = 0;    ///< whose results were there already
  int64_t bad_lines = 0;  ///< that could not be read, or whose custom_id had come before
  int64_t open = 0;       ///< handed over and not answered
  bool interrupted = false;
};

/// Called on the thread of run(). All are optional.
struct BatchEvents {
  std::function<void(const BatchCounts& counts)> on_progress;
  /// A line without a result, and why.
  std::function<void(int64_t line, const std::string& message)> on_bad_line;
  /// Asked several times a second; true ends the run.
  std::function<bool()> is_cancelled;
};

/// Used once, by one thread. What it refers to outlives it.
class BatchRun {
 public:
  /// At most `max_open` >= 1 requests are handed over at a time: as many as keep every row of the batch busy.
  BatchRun(const Router& routes, ResultFile& results, const Clock& clock, int64_t max_open);
  ~BatchRun();
  BatchRun(const BatchRun&) = delete;
  BatchRun& operator=(const BatchRun&) = delete;

  /// Reads requests until there are none, and returns when all are answered; results are written as they
  /// come, and made durable every second. An interrupted run cancels what is open and leaves no trace of it.
  /// Errors: the files'.
  Result<BatchCounts> run(LineReader& requests, const BatchEvents& events);

 private:
  struct Request {
    int64_t line = 0;
    std::string custom_id;
    HttpRequest http;
    const Route* route = nullptr;
  };
  struct Open {
    Request request;
    std::weak_ptr<LocalExchange> exchange;  // only the handlers keep it, so that one without an answer ends
  };
  struct Answer {
    int64_t line = 0;
    HttpResponse response;
  };
  struct Outbox;

  bool wants_more() const;
  Status next_request(LineReader& requests, const BatchEvents& events);
  Status accept(int64_t number, BatchLine line);
  Status refuse(int64_t number, const BatchLine& line, std::string_view code, const std::string& message);
  void start(Request request);
  Status take(Answer answer);
  Status finish(const Request& request, const HttpResponse& response);
  Status sync_now_and_then();
  void abandon();

  const Router& routes_;
  ResultFile& results_;
  const Clock& clock_;
  std::chrono::steady_clock::time_point synced_;
  const int64_t max_open_;
  std::shared_ptr<Outbox> outbox_;          // shared with answers that come late
  std::unordered_map<int64_t, Open> open_;  // by line
  std::deque<Request> again_;               // refused for now: too many waited
  bool hold_ = false;                       // until one of the open ones is answered
  bool input_ended_ = false;
  std::unordered_set<std::string> seen_;  // in this input
  BatchCounts counts_;
};

}  // namespace kvern::server
