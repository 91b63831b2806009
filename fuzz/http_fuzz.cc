// Bytes of a connection through reader, router and answer: never a crash; what a request takes is bounded by
// what came; pieces of any size give the same requests.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/answer.h"
#include "server/http/request_reader.h"
#include "server/http/router.h"

namespace {

namespace server = kvern::server;
using State = server::RequestReader::State;

const server::Router& routes() {
  static const server::Router router = [] {
    server::Router made;
    const auto echo = [](std::shared_ptr<server::Exchange> exchange) {
      exchange->start_stream({});
      exchange->write(exchange->request().body);
      exchange->end();
    };
    made.add("GET", "/health", echo);
    made.add("POST", "/v1/chat/completions", echo);
    made.add("GET", "/v1/models/{model*}", echo);
    made.add("POST", "/v1/responses/{id}/cancel", echo);
    return made;
  }();
  return router;
}

/// What one request came to, as text.
std::string serve(server::RequestReader& reader, const kvern::Clock& clock) {
  if (reader.state() == State::kFailed) return "failed " + std::to_string(reader.failure().status);
  auto match = routes().find(reader.request().method, reader.segments());
  const auto counter = std::make_shared<std::atomic<int64_t>>(0);
  const auto answer = std::make_shared<server::Answer>(
      std::move(reader.request()),
      server::AnswerOptions{.http_1_0 = reader.is_http_1_0(), .keep_alive = reader.keep_alive()}, clock,
      counter);
  if (match.route == nullptr) {
    answer->respond({.status = match.allowed.empty() ? 404 : 405});
  } else {
    match.route->handler(std::make_shared<server::HttpExchange>(answer));
  }
  const server::Answer::Output output = answer->take();
  if (!output.ended) std::abort();
  std::string text;
  for (const std::string& piece : output.pieces) text += piece;
  answer->sent(text.size());
  if (*counter != 0) std::abort();
  for (const std::string& value : match.path_values) text += value;
  return text;
}

/// All requests of a connection, read in pieces.
std::string converse(std::string_view bytes, size_t piece, const kvern::Clock& clock) {
  const server::HttpLimits limits{.header_bytes = 2048, .target_bytes = 512, .body_bytes = 4096};
  std::string story;
  std::string inbox;
  auto reader = std::make_unique<server::RequestReader>(limits);
  while (!bytes.empty()) {
    inbox += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (size_t used = 1; used > 0 && !inbox.empty();) {
      used = reader->consume(inbox);
      if (used > inbox.size()) std::abort();
      inbox.erase(0, used);
      if (reader->state() == State::kBody) reader->set_body_limit(4096);
      if (reader->state() == State::kHead || reader->state() == State::kBody) continue;
      if (reader->state() == State::kDone && reader->request().body.size() > 4096) std::abort();
      const bool failed = reader->state() == State::kFailed;
      story += serve(*reader, clock) + "\n";
      if (failed) return story;
      reader = std::make_unique<server::RequestReader>(limits);
      used = 1;
    }
  }
  return story;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const kvern::ManualClock clock{std::chrono::system_clock::time_point{}};
  const std::string whole = converse(bytes, size + 1, clock);
  // A refusal may be found earlier or later, since limits count what is there; requests before it are the
  // same.
  if (whole.find("failed") == std::string::npos && size < 4096 && converse(bytes, 7, clock) != whole)
    std::abort();
  return 0;
}
