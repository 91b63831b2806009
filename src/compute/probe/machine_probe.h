// What the machine can do at most: the ceilings that benchmark figures are shares of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "compute/context.h"

namespace kvern::compute {

struct ReadProbeOptions {
  int streams = 1;            ///< distant places that each thread reads in turn
  size_t bytes = 512u << 20;  ///< in all; several times the last-level cache
  int repeats = 5;            ///< the median counts
};

/// Reads memory of its own again and again. The bandwidth of a shared machine changes from second to second:
/// what is to be held against it is measured beside it.
class ReadProbe {
 public:
  /// Allocates and touches `bytes`. The context outlives the probe.
  ReadProbe(Context& context, const ReadProbeOptions& options);
  /// One pass over the memory by all threads of the context, in bytes per second.
  double bytes_per_second();

 private:
  Context& context_;
  int streams_;
  size_t each_;   // bytes of a stream
  size_t share_;  // of a thread
  std::unique_ptr<uint8_t[]> memory_;
  uint8_t* data_ = nullptr;  // the first cache line in memory_
};

/// Memory read by all threads of the context together, in bytes per second. Allocates `bytes`.
double read_bytes_per_second(Context& context, const ReadProbeOptions& options);

/// Multiplications and additions of f32 fused multiply-adds on registers, all threads, per second.
double f32_ops_per_second(Context& context);

/// The same of 8-bit integer products summed in 32 bits, with the best vector instruction of the context's
/// target. AMX is left out: no weight format has blocks long enough to come near the peak of its tiles.
double int8_ops_per_second(Context& context);

struct MachineCeilings {
  double read_bytes_per_second = 0.0;  ///< the best of 1, 2, 4 and 8 streams
  int read_streams = 0;                ///< which
  double int8_ops_per_second = 0.0;
  double f32_ops_per_second = 0.0;
};

/// All of it, in about two seconds.
MachineCeilings probe_machine(Context& context);

}  // namespace kvern::compute
