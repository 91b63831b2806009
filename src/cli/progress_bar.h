// How far long work has come, on stderr and only for people at a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "cli/environment.h"
#include "cli/output.h"

namespace kvern::cli {

/// "verifying  [########------------]  40 %  about 12 s"; erased by the destructor. One thread.
class ProgressBar {
 public:
  /// Borrowed.
  ProgressBar(Environment& environment, std::string what);

  /// False when the user asked to stop: what the store's long calls want to know.
  bool update(int64_t done, int64_t all);
  /// update() as a function; the bar outlives it.
  std::function<bool(int64_t, int64_t)> callback() {
    return [this](int64_t done, int64_t all) { return update(done, all); };
  }

 private:
  Environment& environment_;
  std::string what_;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point shown_{};
  ProgressLine line_;
};

}  // namespace kvern::cli
