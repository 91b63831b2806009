#include "server/batch/batch_job.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "engine/loop/engine_loop.h"
#include "server/app/serving.h"
#include "server/metrics/metrics.h"

namespace kvern::server {
namespace {

constexpr size_t kMaxRequestBytes = size_t{64} << 20;

Result<int64_t> count_lines(Files& files, const std::string& path) {
  KVERN_TRY(LineReader reader, LineReader::open(files, path, kMaxRequestBytes));
  int64_t count = 0;
  for (;;) {
    KVERN_TRY(const std::optional<LineReader::Line> line, reader.next());
    if (!line) return count;
    if (line->too_long || line->text.find_first_not_of(" \t") != std::string::npos) ++count;
  }
}

}  // namespace

Result<BatchJob> BatchJob::open(Files& files, const std::string& requests, const std::string& results) {
  if (requests == results) {
    return fail(ErrorCode::kInvalidArgument, "requests and results cannot be the same file", results);
  }
  KVERN_TRY(const int64_t count, count_lines(files, requests));
  KVERN_TRY(LineReader reader, LineReader::open(files, requests, kMaxRequestBytes));
  KVERN_TRY(ResultFile written, ResultFile::open(files, results));
  return BatchJob(std::move(reader), std::move(written), count);
}

Result<BatchCounts> BatchJob::run(const Parts& parts, const BatchModelOptions& options,
                                  const BatchEvents& events) {
  KVERN_CHECK(!options.names.empty());
  engine::LoopOptions wanted = options.loop;
  // Enough that a row which ends finds the next request waiting, however short requests are.
  const int64_t most_open = 2 * std::max<int64_t>(1, wanted.max_rows) + 2;
  wanted.max_queue = std::max(wanted.max_queue, most_open);
  std::optional<engine::EngineLoop> loop;
  try {
    loop.emplace(parts.engine, parts.clock, wanted);
  } catch (const std::system_error&) {
    return fail(ErrorCode::kExhausted, "the system gives no thread", "threads");
  }
  Metrics metrics;
  const Serving serving(
      {.model_name = options.names.front(),
       .aliases = {options.names.begin() + 1, options.names.end()},
       .system_fingerprint = options.system_fingerprint,
       .id_salt = options.id_salt},
      {.service = *loop, .engine = parts.engine, .clock = parts.clock, .log = parts.log, .metrics = metrics});
  Result<BatchCounts> counts =
      BatchRun(serving.routes(), results_, parts.clock, most_open).run(requests_, events);
  // Nothing may be made into an answer any more when the routes go.
  loop->stop(engine::StopMode::kCancel);
  loop->wait_stopped();
  return counts;
}

}  // namespace kvern::server
