// One connection: requests one after another, each read, answered, and only then the next looked at. Internal
// to the transport: brings Asio along.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"
#include "base/log.h"
#include "server/http/answer.h"
#include "server/http/http_application.h"
#include "server/http/http_options.h"
#include "server/http/request_reader.h"
#include "server/http/stream.h"
#include "server/http/worker_pool.h"

namespace kvern::server {

/// What all connections share; outlives them.
struct ConnectionHost {
  const HttpLimits limits;
  HttpApplication& application;
  const Clock& clock;
  LogSink& log;
  WorkerPool& workers;
  /// Shared with answers, which whoever makes them may keep for longer.
  std::shared_ptr<std::atomic<int64_t>> queued_bytes = std::make_shared<std::atomic<int64_t>>(0);
  std::atomic<int64_t> requests{0};       ///< being read or answered
  std::atomic<uint64_t> next_request{0};  ///< for ids
  std::string id_salt;                    ///< for ids, of this process
};

/// Everything happens on the stream's executor, but for drain() and abort(). A read is pending while an
/// answer is made: that is how a client that goes is noticed at once. Both ends of its half of the connection
/// (FIN, also of a half-close) and RST count as gone.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Options {
    std::string peer;
    bool overloaded = false;  ///< answers 503 to the first request and closes
  };
  Connection(std::unique_ptr<Stream> stream, ConnectionHost& host, Options options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();
  /// Any thread: no request after the present one.
  void drain();
  /// Any thread: closed now.
  void abort();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  enum Deadline : size_t { kHandshake, kIdle, kHead, kBody, kWrite, kPing, kLinger, kDeadlines };

  void begin_request();
  void read();
  void on_read(const boost::system::error_code& ec, size_t bytes);
  void parse();
  /// One piece of work on what was received; false when more must come first.
  bool parse_step();
  void begin_message();
  void decide();
  bool skip_body();
  void run_handler();
  void refuse(HttpResponse response);
  std::shared_ptr<Answer> make_answer(bool keep_alive);
  void pump();
  void write();
  void on_write(const boost::system::error_code& ec, size_t bytes);
  void finish_answer();
  void record_answer();
  void linger();
  void peer_gone();
  void close();

  void set_deadline(Deadline which, TimePoint when);
  void clear_deadline(Deadline which) { deadlines_[which] = TimePoint::max(); }
  void arm_timer();
  void on_timer();
  void expire(Deadline which);

  const std::unique_ptr<Stream> stream_;
  ConnectionHost& host_;
  const Options options_;
  boost::asio::steady_timer timer_;
  std::array<TimePoint, kDeadlines> deadlines_;
  TimePoint armed_ = TimePoint::max();

  std::array<char, size_t{8} << 10> buffer_;
  std::string inbox_;  // received, not yet taken by the reader
  std::optional<RequestReader> reader_;
  HttpDecision decision_;
  std::string request_id_;
  TimePoint started_;     // of the present request
  bool counted_ = false;  // in host_.requests
  bool decided_ = false;
  bool reading_ = false;
  bool lingering_ = false;
  bool draining_ = false;
  bool closed_ = false;
  size_t discarded_bytes_ = 0;

  std::shared_ptr<Answer> answer_;  // null between requests
  bool answer_ended_ = false;
  std::deque<std::string> sending_;
  size_t sent_of_front_ = 0;
  size_t interim_bytes_ = 0;  // of sending_, those that belong to no answer
  bool writing_ = false;
  const std::shared_ptr<std::atomic<bool>> wake_posted_;
};

}  // namespace kvern::server
