// A batch file from end to end: the files, the loop that runs the model, the server's routes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "base/result.h"
#include "engine/load/engine.h"
#include "engine/loop/loop_options.h"
#include "server/batch/batch_run.h"
#include "server/batch/line_reader.h"
#include "server/batch/result_file.h"

namespace kvern::server {

struct BatchModelOptions {
  std::vector<std::string> names;  ///< that requests may say; at least one
  std::string system_fingerprint;
  engine::LoopOptions loop;
  uint64_t id_salt = 0;  ///< of ids and of seeds that nobody gave
};

/// Used once, by one thread.
class BatchJob {
 public:
  /// Opens both files and looks through them; before a model is loaded, since that takes longer. Errors:
  /// LineReader::open, ResultFile::open, and the same file for both.
  static Result<BatchJob> open(Files& files, const std::string& requests, const std::string& results);

  int64_t requests() const { return count_; }  ///< lines that are not empty
  const ResultFile& results() const { return results_; }

  /// What the requests run on; all outlive the call.
  struct Parts {
    engine::Engine& engine;
    const Clock& clock;
    LogSink& log;
  };
  /// BatchRun::run on a loop of its own.
  Result<BatchCounts> run(const Parts& parts, const BatchModelOptions& options, const BatchEvents& events);

 private:
  BatchJob(LineReader requests, ResultFile results, int64_t count)
      : requests_(std::move(requests)), results_(std::move(results)), count_(count) {}

  LineReader requests_;
  ResultFile results_;
  int64_t count_;
};

}  // namespace kvern::server
