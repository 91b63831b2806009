#include "server/protocol/kv/transfer_routes.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "server/protocol/kv/kv_json.h"
#include "server/protocol/query_fields.h"

namespace kvern::server::kv {
namespace {

using engine::SavedPrefixes;

constexpr size_t kPieceBytes = size_t{256} << 10;

/// A file that is streamed as fast as its client reads.
class FileStream {
 public:
  FileStream(Exchange& exchange, std::string file_name)
      : exchange_(exchange), file_name_(std::move(file_name)) {}

  Status write(std::span<const std::byte> bytes) {
    if (!std::exchange(begun_, true)) {
      exchange_.start_stream(
          {.headers = {{"Content-Disposition", fmt::format("attachment; filename=\"{}\"", file_name_)}},
           .content_type = "application/octet-stream",
           .body = {}});
    }
    while (!bytes.empty()) {
      const size_t room = exchange_.wait_for_room();
      if (room == 0) return fail(ErrorCode::kCancelled, "the client has gone");
      const auto piece = bytes.first(std::min({bytes.size(), room, kPieceBytes}));
      exchange_.write(std::string(reinterpret_cast<const char*>(piece.data()), piece.size()));
      bytes = bytes.subspan(piece.size());
    }
    return Ok{};
  }
  bool begun() const { return begun_; }

 private:
  Exchange& exchange_;
  std::string file_name_;
  bool begun_ = false;
};

/// What fails after the beginning leaves the stream without its end: clients notice, and so does import.
void stream_prefix(SavedPrefixes& saved, Exchange& exchange, const std::string& name) {
  const std::string name_space = ProtocolContext::name_space(exchange.request(), salt_of(exchange));
  FileStream file(exchange, name.substr(0, 16) + ".kvx");
  const auto done =
      saved.export_to(name_space, name, [&](std::span<const std::byte> bytes) { return file.write(bytes); });
  if (done) return exchange.end();
  if (!file.begun()) respond_error(exchange, done.error());
}

void export_prefix(SavedPrefixes& saved, Exchange& exchange) {
  const std::string name_space = ProtocolContext::name_space(exchange.request(), salt_of(exchange));
  const auto prefix = saved.find(name_space, path_value(exchange));
  if (!prefix) return respond_error(exchange, prefix.error());
  stream_prefix(saved, exchange, prefix->name);
}

void export_session(SavedPrefixes& saved, Exchange& exchange) {
  const std::string name_space = ProtocolContext::name_space(exchange.request(), salt_of(exchange));
  const auto session = saved.session(name_space, path_value(exchange));
  if (!session) return respond_error(exchange, session.error());
  if (!session->prefix)
    return respond_error(exchange, {.code = ErrorCode::kNotFound,
                                    .message = "what this session had is gone; restore it first"});
  stream_prefix(saved, exchange, session->prefix->name);
}

void import_prefixes(SavedPrefixes& saved, Exchange& exchange) {
  const HttpRequest& request = exchange.request();
  const auto body = std::as_bytes(std::span(request.body));
  const auto source = [body, at = size_t{0}](std::span<std::byte> out) mutable -> Status {
    if (out.size() > body.size() - at)
      return fail(ErrorCode::kCorrupt, "not a file of exported prefixes: it is cut off");
    std::memcpy(out.data(), body.data() + at, out.size());
    at += out.size();
    return Ok{};
  };
  const auto pinned = query_flag(request, "pinned");
  if (!pinned) return respond_wrong_request(exchange, pinned.error());
  const auto report =
      saved.import_from(ProtocolContext::name_space(request, salt_of(exchange)), source, *pinned);
  // That the file is of a later version is the client's fault, not a directory's.
  if (!report && report.error().code == ErrorCode::kUnsupported)
    return exchange.respond(error_response(to_api_error(report.error())));
  if (!report) return respond_error(exchange, report.error());
  json::array names;
  for (const auto& name : report->entries) names.push_back(json::value(name.to_string()));
  respond_json(exchange, {{"object", "kv.import"},
                          {"saved", report->saved},
                          {"there", report->there},
                          {"names", std::move(names)}});
}

/// Files that are sent now: each keeps a thread as long as its client reads, so none may wait for another's.
class RunningExports {
 public:
  explicit RunningExports(size_t most) : most_(most) {}

  /// One of them, until it is destroyed; null when there are as many as may be.
  static std::shared_ptr<void> begin(const std::shared_ptr<RunningExports>& exports) {
    if (exports->count_.fetch_add(1) >= exports->most_) {
      --exports->count_;
      return nullptr;
    }
    return {exports.get(), [exports](void* /*exports*/) { --exports->count_; }};
  }

 private:
  const size_t most_;
  std::atomic<size_t> count_{0};
};

ApiError too_many_exports(size_t most) {
  return {.status = 503,
          .message = fmt::format("{} exports run already, as many as may at a time (--kv-exports); try again "
                                 "later",
                                 most),
          .type = "unavailable_error",
          .code = "too_many_exports"};
}

using Handle = void (*)(SavedPrefixes&, Exchange&);

/// As on_saved(), for as many at a time as there are threads for them.
Handler on_export(const ProtocolContext& context, Executor& transfers,
                  std::shared_ptr<RunningExports> running, Handle handle) {
  return [&context, &transfers, running = std::move(running), handle](std::shared_ptr<Exchange> exchange) {
    if (context.saved == nullptr) return respond_nothing_saved(*exchange);
    if (const auto right = check_request(exchange->request(), {}); !right)
      return respond_wrong_request(*exchange, right.error());
    auto place = RunningExports::begin(running);
    if (!place) return exchange->respond(error_response(too_many_exports(context.limits.max_exports)));
    transfers.post([&context, handle, place = std::move(place), exchange = std::move(exchange)] {
      handle(*context.saved, *exchange);
    });
  };
}

}  // namespace

void add_transfer_routes(Router& router, const ProtocolContext& context, const Executors& executors) {
  const auto running = std::make_shared<RunningExports>(context.limits.max_exports);
  router.add("GET", "/v1/kv/prefixes/{name}/export",
             on_export(context, executors.transfers, running, export_prefix));
  router.add("GET", "/v1/kv/sessions/{name}/export",
             on_export(context, executors.transfers, running, export_session));
  router.add("POST", "/v1/kv/import",
             on_saved(context, executors.patient, {.body = BodyUse::kRead, .query = {"cache_salt", "pinned"}},
                      [](SavedPrefixes& saved, const std::shared_ptr<Exchange>& exchange) {
                        import_prefixes(saved, *exchange);
                      }),
             {.max_body_bytes = context.limits.max_import_bytes});
}

}  // namespace kvern::server::kv
