#include "server/http/connection.h"

#include <algorithm>
#include <utility>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "base/check.h"
#include "server/http/http_error.h"

namespace kvern::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::steady_clock;

/// What may be received while an answer is made. Behind more than this, the end of a client is noticed only
/// when it does not take what is sent.
constexpr size_t kReadAhead = size_t{64} << 10;
/// A refused body that is no longer than this is read and dropped, so that the connection can stay.
constexpr size_t kSkippedBody = size_t{64} << 10;
/// After the last answer the client's bytes are read and dropped so long, so that it reads the answer before
/// it learns of the end: closing at once would reset the connection.
constexpr std::chrono::milliseconds kLingerTime{2000};
constexpr size_t kLingerBytes = size_t{4} << 20;
/// Slowest body that is waited for, beyond HttpLimits::body_timeout.
constexpr int64_t kSlowestBytesPerSecond = 1024;

bool is_id(std::string_view text) {
  const auto fits = [](char c) { return c > 0x20 && c < 0x7F && c != '"' && c != '\\'; };
  return !text.empty() && text.size() <= 128 && std::ranges::all_of(text, fits);
}

}  // namespace

Connection::Connection(std::unique_ptr<Stream> stream, ConnectionHost& host, Options options)
    : stream_(std::move(stream)),
      host_(host),
      options_(std::move(options)),
      timer_(stream_->executor()),
      wake_posted_(std::make_shared<std::atomic<bool>>(false)) {
  deadlines_.fill(TimePoint::max());
}

Connection::~Connection() {
  if (answer_) answer_->close();
  if (counted_) --host_.requests;
}

void Connection::start() {
  asio::dispatch(stream_->executor(), [self = shared_from_this()] {
    self->set_deadline(kHandshake, steady_clock::now() + self->host_.limits.header_timeout);
    self->stream_->handshake([self](const error_code& ec) {
      self->clear_deadline(kHandshake);
      if (ec || self->closed_) return self->close();
      self->begin_request();
      self->read();
    });
  });
}

void Connection::drain() {
  asio::post(stream_->executor(), [self = shared_from_this()] {
    self->draining_ = true;
    const bool idle = !self->answer_ && !self->lingering_ && self->inbox_.empty() &&
                      (!self->reader_ || !self->reader_->begun());
    if (idle) self->close();
  });
}

void Connection::abort() {
  asio::post(stream_->executor(), [self = shared_from_this()] { self->close(); });
}

// Receiving.

void Connection::begin_request() {
  reader_.emplace(host_.limits);
  decision_ = {};
  decided_ = false;
  set_deadline(kIdle, steady_clock::now() + host_.limits.idle_timeout);
}

void Connection::read() {
  if (reading_ || closed_) return;
  if (answer_ && inbox_.size() >= kReadAhead) return;
  reading_ = true;
  stream_->read_some(asio::buffer(buffer_), [self = shared_from_this()](const error_code& ec, size_t bytes) {
    self->reading_ = false;
    self->on_read(ec, bytes);
  });
}

void Connection::on_read(const error_code& ec, size_t bytes) {
  if (closed_) return;
  if (ec) return peer_gone();
  if (lingering_) {
    discarded_bytes_ += bytes;
    if (discarded_bytes_ > kLingerBytes) return close();
  } else {
    inbox_.append(buffer_.data(), bytes);
    parse();
  }
  read();
}

void Connection::parse() {
  while (!answer_ && !closed_ && !lingering_ && !inbox_.empty() && parse_step()) {
  }
  pump();
}

bool Connection::parse_step() {
  if (!reader_->begun()) {
    inbox_.erase(0, reader_->skip_empty_lines(inbox_));
    if (inbox_.empty()) return false;
    begin_message();
  }
  inbox_.erase(0, reader_->consume(inbox_));
  switch (reader_->state()) {
    case RequestReader::State::kHead:
      return false;
    case RequestReader::State::kBody:
      if (!decided_) {
        decide();
        return true;
      }
      set_deadline(kBody, started_ + host_.limits.body_timeout +
                              std::chrono::seconds(static_cast<int64_t>(reader_->request().body.size()) /
                                                   kSlowestBytesPerSecond));
      return false;
    case RequestReader::State::kDone:
      if (!decided_) decide();
      if (!answer_) run_handler();
      return true;
    case RequestReader::State::kFailed:
      refuse(decision_.error_answer(reader_->failure()));
      return true;
  }
  return false;
}

void Connection::begin_message() {
  started_ = steady_clock::now();
  request_id_ = fmt::format("req-{}{:06x}", host_.id_salt, host_.next_request++);
  ++host_.requests;
  counted_ = true;
  clear_deadline(kIdle);
  set_deadline(kHead, started_ + host_.limits.header_timeout);
}

void Connection::decide() {
  decided_ = true;
  clear_deadline(kHead);
  HttpRequest& request = reader_->request();
  if (const auto id = request.header("x-request-id"); id && is_id(*id)) request_id_ = *id;
  request.id = request_id_;
  request.usage = std::make_shared<RequestUsage>();
  decision_ = host_.application.decide(request, reader_->segments());
  if (options_.overloaded)
    return refuse(
        decision_.error_answer({.status = 503, .message = "Too many connections; try again later."}));
  if (decision_.answer) return refuse(*std::move(decision_.answer));
  const size_t limit = decision_.max_body_bytes;
  reader_->set_body_limit(limit == 0 ? host_.limits.body_bytes : std::min(limit, host_.limits.body_bytes));
  if (reader_->state() == RequestReader::State::kFailed)
    return refuse(decision_.error_answer(reader_->failure()));
  if (reader_->state() != RequestReader::State::kBody) return;
  set_deadline(kBody, steady_clock::now() + host_.limits.body_timeout);
  if (reader_->expects_continue() && inbox_.empty()) {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    interim_bytes_ += kContinue.size();
    sending_.emplace_back(kContinue);
  }
}

bool Connection::skip_body() {
  if (reader_->state() == RequestReader::State::kBody) {
    reader_->set_body_limit(kSkippedBody);
    inbox_.erase(0, reader_->consume(inbox_));
    // A chunked body is taken in several steps.
    for (size_t used = 1; used > 0 && reader_->state() == RequestReader::State::kBody;) {
      used = reader_->consume(inbox_);
      inbox_.erase(0, used);
    }
  }
  return reader_->state() == RequestReader::State::kDone;
}

// Answering.

std::shared_ptr<Answer> Connection::make_answer(bool keep_alive) {
  clear_deadline(kHead);
  clear_deadline(kBody);
  HttpRequest request = std::move(reader_->request());
  request.id = request_id_;
  AnswerOptions options{.extra_headers = std::move(decision_.headers),
                        .max_queued_bytes = host_.limits.queued_bytes,
                        .http_1_0 = reader_->is_http_1_0(),
                        .keep_alive = keep_alive && !draining_,
                        .head_only = request.method == "HEAD"};
  options.extra_headers.emplace_back("x-request-id", request_id_);
  auto answer =
      std::make_shared<Answer>(std::move(request), std::move(options), host_.clock, host_.queued_bytes);
  // Under the answer's lock, so it only posts; once for all that is made until it is looked at.
  answer->attach([weak = weak_from_this(), posted = wake_posted_, executor = stream_->executor()] {
    if (posted->exchange(true)) return;
    asio::post(executor, [weak] {
      if (const auto self = weak.lock()) self->pump();
    });
  });
  return answer;
}

void Connection::run_handler() {
  answer_ = make_answer(reader_->keep_alive());
  answer_ended_ = false;
  const bool taken = host_.workers.try_post([answer = answer_, handler = std::move(decision_.handler)] {
    if (!answer->is_closed()) handler(std::make_shared<HttpExchange>(answer));
  });
  if (!taken)
    answer_->respond(
        decision_.error_answer({.status = 503, .message = "Too many requests wait; try again later."}));
}

void Connection::refuse(HttpResponse response) {
  const bool keep = !options_.overloaded && reader_->state() != RequestReader::State::kFailed &&
                    skip_body() && reader_->keep_alive();
  answer_ = make_answer(keep);
  answer_ended_ = false;
  answer_->respond(std::move(response));
}

void Connection::pump() {
  *wake_posted_ = false;
  if (closed_) return;
  if (answer_ && answer_->is_cut()) return close();
  if (writing_) return;
  if (answer_ && sending_.empty() && !answer_ended_) {
    Answer::Output output = answer_->take();
    sending_ = std::move(output.pieces);
    answer_ended_ = output.ended;
    const auto idle = answer_->idle_after();
    if (idle.count() > 0 && !sending_.empty()) set_deadline(kPing, steady_clock::now() + idle);
    if (answer_ended_) clear_deadline(kPing);
  }
  if (!sending_.empty()) {
    write();
  } else if (answer_ && answer_ended_) {
    finish_answer();
  }
}

void Connection::write() {
  writing_ = true;
  set_deadline(kWrite, steady_clock::now() + host_.limits.write_timeout);
  const std::string& front = sending_.front();
  stream_->write_some(asio::buffer(front.data() + sent_of_front_, front.size() - sent_of_front_),
                      [self = shared_from_this()](const error_code& ec, size_t bytes) {
                        self->writing_ = false;
                        self->on_write(ec, bytes);
                      });
}

void Connection::on_write(const error_code& ec, size_t bytes) {
  clear_deadline(kWrite);
  if (closed_) return;
  if (ec) return close();
  const size_t interim = std::min(interim_bytes_, bytes);
  interim_bytes_ -= interim;
  if (answer_) answer_->sent(bytes - interim);
  sent_of_front_ += bytes;
  if (sent_of_front_ == sending_.front().size()) {
    sending_.pop_front();
    sent_of_front_ = 0;
  }
  pump();
}

void Connection::finish_answer() {
  const bool keep = answer_->keep_alive() && !draining_;
  record_answer();
  if (!keep) return linger();
  begin_request();
  if (!inbox_.empty()) {
    // Not from here: many requests that came at once would be a recursion as deep.
    asio::post(stream_->executor(), [self = shared_from_this()] {
      self->parse();
      self->read();
    });
  }
  read();
}

void Connection::record_answer() {
  HttpRecord record;
  const HttpRequest& request = answer_->request();
  record.id = request.id;
  record.client = request.client;
  record.method = request.method;
  record.usage = request.usage;
  record.route = decision_.route;
  record.peer = options_.peer;
  record.answer = answer_->report();
  record.duration = std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - started_);
  answer_.reset();
  counted_ = false;
  --host_.requests;
  host_.application.finished(record);
}

// Ending.

void Connection::linger() {
  lingering_ = true;
  inbox_.clear();
  stream_->finish_writing([self = shared_from_this()] {});
  set_deadline(kLinger, steady_clock::now() + kLingerTime);
  read();
}

void Connection::peer_gone() {
  // What was made to the end before is still sent: to a client that closed its half, it arrives.
  if (answer_ && answer_ended_) {
    draining_ = true;
    return;
  }
  close();
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  stream_->close();
  timer_.cancel();
  if (answer_) {
    const std::shared_ptr<Answer> answer = answer_;
    answer->close();
    record_answer();
  }
}

// Deadlines: one timer for all. It is armed for the first; one that moved back is found when it fires.

void Connection::set_deadline(Deadline which, TimePoint when) {
  deadlines_[which] = when;
  if (when < armed_) arm_timer();
}

void Connection::arm_timer() {
  if (closed_) return;
  armed_ = *std::ranges::min_element(deadlines_);
  if (armed_ == TimePoint::max()) return;
  timer_.expires_at(armed_);
  timer_.async_wait([weak = weak_from_this()](const error_code& ec) {
    if (ec) return;  // Armed anew, or closed.
    if (const auto self = weak.lock()) self->on_timer();
  });
}

void Connection::on_timer() {
  const TimePoint now = steady_clock::now();
  for (size_t i = 0; i < kDeadlines && !closed_; ++i) {
    if (deadlines_[i] > now) continue;
    deadlines_[i] = TimePoint::max();
    expire(static_cast<Deadline>(i));
  }
  armed_ = TimePoint::max();
  arm_timer();
}

void Connection::expire(Deadline which) {
  switch (which) {
    case kHead:
    case kBody:
      refuse(decision_.error_answer({.status = 408, .message = "The request did not arrive in time."}));
      return pump();
    case kPing:
      if (!answer_) return;
      answer_->write_idle();
      deadlines_[kPing] = steady_clock::now() + answer_->idle_after();
      return pump();
    case kHandshake:
    case kIdle:
    case kWrite:
    case kLinger:
    case kDeadlines:
      return close();
  }
}

}  // namespace kvern::server
