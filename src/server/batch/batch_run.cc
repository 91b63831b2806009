#include "server/batch/batch_run.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/mutex.h"
#include "server/http/target.h"

namespace kvern::server {
namespace {

// How often the run looks whether it is to end.
constexpr std::chrono::milliseconds kLook{50};
// What a failure of power takes at most, with what is being written.
constexpr std::chrono::seconds kBetweenSyncs{1};

// Too many wait already.
bool is_busy(int status) { return status == 429 || status == 503; }

bool is_success(int status) { return status >= 200 && status < 300; }

bool wants_stream(const json::object& body) {
  const json::value* stream = body.if_contains("stream");
  return stream != nullptr && stream->is_bool() && stream->as_bool();
}

}  // namespace

// Answers, from whatever thread they come.
struct BatchRun::Outbox {
  Mutex mutex;
  std::condition_variable_any changed;
  std::deque<Answer> answers KVERN_GUARDED_BY(mutex);

  void push(Answer answer) {
    const MutexLock lock(mutex);
    answers.push_back(std::move(answer));
    changed.notify_one();
  }
  // Waits for one at most so long.
  std::optional<Answer> pop(std::chrono::milliseconds patience) {
    const MutexLock lock(mutex);
    const auto until = std::chrono::steady_clock::now() + patience;
    while (answers.empty()) {
      if (changed.wait_until(mutex, until) == std::cv_status::timeout) break;
    }
    if (answers.empty()) return std::nullopt;
    Answer answer = std::move(answers.front());
    answers.pop_front();
    return answer;
  }
};

BatchRun::BatchRun(const Router& routes, ResultFile& results, const Clock& clock, int64_t max_open)
    : routes_(routes),
      results_(results),
      clock_(clock),
      synced_(clock.now()),
      max_open_(std::max<int64_t>(1, max_open)),
      outbox_(std::make_shared<Outbox>()) {}

BatchRun::~BatchRun() { abandon(); }

bool BatchRun::wants_more() const {
  if (std::ssize(open_) >= max_open_ || hold_) return false;
  return !again_.empty() || !input_ended_;
}

Result<BatchCounts> BatchRun::run(LineReader& requests, const BatchEvents& events) {
  while (!input_ended_ || !again_.empty() || !open_.empty()) {
    if (events.is_cancelled && events.is_cancelled()) {
      counts_.interrupted = true;
      while (std::optional<Answer> answer = outbox_->pop({})) {
        KVERN_TRY_STATUS(take(*std::move(answer)));
      }
      abandon();
      break;
    }
    if (wants_more()) {
      KVERN_TRY_STATUS(next_request(requests, events));
    } else if (std::optional<Answer> answer = outbox_->pop(kLook)) {
      KVERN_TRY_STATUS(take(*std::move(answer)));
    }
    KVERN_TRY_STATUS(sync_now_and_then());
    counts_.open = std::ssize(open_);
    if (events.on_progress) events.on_progress(counts_);
  }
  KVERN_TRY_STATUS(results_.sync());
  return counts_;
}

Status BatchRun::next_request(LineReader& requests, const BatchEvents& events) {
  if (!again_.empty()) {
    Request request = std::move(again_.front());
    again_.pop_front();
    start(std::move(request));
    return Ok{};
  }
  KVERN_TRY(std::optional<LineReader::Line> line, requests.next());
  if (!line) {
    input_ended_ = true;
    return Ok{};
  }
  const auto complain = [&](const std::string& message) {
    ++counts_.bad_lines;
    if (events.on_bad_line) events.on_bad_line(line->number, message);
  };
  if (line->too_long) {
    complain("is too long");
    return Ok{};
  }
  if (line->text.find_first_not_of(" \t") == std::string::npos) return Ok{};
  auto read = read_batch_line(line->text);
  if (!read) {
    complain(read.error().message);  // it begins with the field
    return Ok{};
  }
  if (!seen_.insert(read->custom_id).second) {
    complain(fmt::format("custom_id \"{}\" has come before", read->custom_id));
    return Ok{};
  }
  return accept(line->number, *std::move(read));
}

// A line with a name: from here on there is a result for it, whatever happens.
Status BatchRun::accept(int64_t number, BatchLine line) {
  if (results_.has(line.custom_id)) {
    ++counts_.skipped;
    return Ok{};
  }
  const auto target = parse_target(line.url);
  if (!target) return refuse(number, line, "invalid_url", "url: " + target.error().to_string());
  const Router::Match match = routes_.find(line.method, target->segments);
  if (match.route == nullptr || match.route->method != "POST" ||
      match.route->options.access != RouteAccess::kKey) {
    return refuse(number, line, "invalid_url",
                  fmt::format("{} {} is nothing that a batch can ask for", line.method, line.url));
  }
  if (wants_stream(line.body)) {
    return refuse(number, line, "invalid_request", "stream: a batch has whole answers only");
  }
  Request request{.line = number,
                  .custom_id = std::move(line.custom_id),
                  .http = {.method = std::move(line.method),
                           .path = target->path,
                           .query = target->query,
                           .headers = {{"content-type", "application/json"}},
                           .body = to_json(line.body),
                           .path_values = match.path_values,
                           .client = {},
                           .id = std::to_string(number),
                           .usage = std::make_shared<RequestUsage>()},
                  .route = match.route};
  start(std::move(request));
  return Ok{};
}

Status BatchRun::refuse(int64_t number, const BatchLine& line, std::string_view code,
                        const std::string& message) {
  ++counts_.done;
  ++counts_.failed;
  return results_.append(line.custom_id,
                         failed_result(line.custom_id, std::to_string(number), code, message));
}

void BatchRun::start(Request request) {
  const int64_t line = request.line;
  auto exchange =
      std::make_shared<LocalExchange>(request.http, [line, outbox = outbox_](HttpResponse response) {
        outbox->push({.line = line, .response = std::move(response)});
      });
  const Handler& handler = request.route->handler;
  open_.emplace(line, Open{.request = std::move(request), .exchange = exchange});
  handler(std::move(exchange));
}

Status BatchRun::take(Answer answer) {
  const auto it = open_.find(answer.line);
  Request request = std::move(it->second.request);
  open_.erase(it);
  // Others are before it: it waits until one of them is done. Alone, it is refused for good.
  if (is_busy(answer.response.status) && !open_.empty()) {
    again_.push_back(std::move(request));
    hold_ = true;
    return Ok{};
  }
  hold_ = false;
  return finish(request, answer.response);
}

Status BatchRun::finish(const Request& request, const HttpResponse& response) {
  ++counts_.done;
  if (!is_success(response.status)) ++counts_.failed;
  return results_.append(request.custom_id, answered_result(request.custom_id, request.http.id, response));
}

Status BatchRun::sync_now_and_then() {
  if (!results_.unsynced() || clock_.now() - synced_ < kBetweenSyncs) return Ok{};
  KVERN_TRY_STATUS(results_.sync());
  synced_ = clock_.now();
  return Ok{};
}

// Ends what is open; its answers are nobody's.
void BatchRun::abandon() {
  for (auto& [line, open] : open_) {
    if (const auto exchange = open.exchange.lock()) exchange->close();
  }
  open_.clear();
  again_.clear();
}

}  // namespace kvern::server
