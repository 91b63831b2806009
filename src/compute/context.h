// What a kernel call runs on: the instruction set, the threads and their scratch memory. Passed, never
// global.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "compute/cpu_target.h"
#include "compute/threads/pool.h"

namespace kvern::compute {

/// Growing, 64-byte aligned scratch memory of one thread; contents are undefined between uses.
class Scratch {
 public:
  /// At least `bytes` bytes, 64-byte aligned, valid until the next call.
  std::byte* get(size_t bytes);

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
};

/// One engine's compute resources. One thread drives it (the one that calls kernels).
class Context {
 public:
  Context(CpuTarget target, int threads);

  CpuTarget target() const { return target_; }
  ThreadPool& pool() { return pool_; }
  /// Scratch of pool thread `thread`, for use inside a task.
  Scratch& thread_scratch(int thread) { return thread_scratch_[static_cast<size_t>(thread)]; }
  /// Scratch of the calling thread for data shared by the tasks of one kernel call.
  Scratch& shared_scratch() { return shared_scratch_; }

 private:
  CpuTarget target_;
  ThreadPool pool_;
  std::vector<Scratch> thread_scratch_;
  Scratch shared_scratch_;
};

}  // namespace kvern::compute
