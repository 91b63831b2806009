// What every command is given: the outside world, so that commands hold no globals and their logic stays
// testable.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "base/result.h"

namespace kvern::cli {

/// Process exit codes, as `kvern --help` lists them.
enum class ExitCode : int {
  kOk = 0,
  kFailed = 1,        ///< the work failed: input/output, permissions, memory, an interrupted computation
  kBadInput = 2,      ///< unknown flag, bad value, a file that is missing, damaged or not supported
  kInterrupted = 130  ///< stopped by Ctrl-C before anything was produced
};

struct Environment {
  Files& files;
  Clock& clock;
  LogSink& log;
  /// Set by Ctrl-C. Commands that generate poll it; a second Ctrl-C ends the process.
  std::atomic<bool>& interrupted;
};

/// Prints "kvern: where: message" on stderr and returns the matching exit code.
ExitCode report(const Error& error);

}  // namespace kvern::cli
