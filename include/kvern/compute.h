// What kernels run on: threads and an instruction set. A value that is passed, never global.
#pragma once

#include <memory>
#include <string>

#include "kvern/result.h"

namespace kvern {

struct ComputeOptions {
  int threads = 0;  ///< 0: one for each core; at most 1024
  /// avx2, avx512, avx512-vnni, avx512-amx, neon, or auto: the best that this CPU has.
  std::string cpu_target = "auto";
};

/// Threads with their scratch memory. Neither their number nor the instruction set ever changes a result. One
/// thread at a time calls into a Compute; several Computes are independent. Moved-from: only to be destroyed
/// or assigned to.
class Compute {
 public:
  /// kInvalidArgument, kUnsupported: an instruction set that does not exist or that this CPU lacks (the
  /// message lists the possible ones); kExhausted: the system gives no more threads.
  static Result<Compute> create(const ComputeOptions& options = {});
  Compute(Compute&&) noexcept;
  Compute& operator=(Compute&&) noexcept;
  ~Compute();

  int threads() const;
  /// What runs, as ComputeOptions::cpu_target names it; never "auto".
  std::string cpu_target() const;

 private:
  friend class KvStep;
  struct Impl;
  explicit Compute(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvern
