// How a kernel reaches its instruction sets. A kernel file is compiled once for each target by Highway's
// foreach_target.h; at the end, KVERN_TARGET_TABLE collects the per-target functions into a table that is
// indexed by the CpuTarget of the context. There is no global choice: two engines of one process may run
// different targets.
//
//   // my_kernel.cc
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "compute/kernels/my_kernel.cc"
//   #include "hwy/foreach_target.h"  // must come before highway.h
//   #include "hwy/highway.h"
//   HWY_BEFORE_NAMESPACE();
//   namespace kvern::compute {
//   namespace HWY_NAMESPACE {
//   void my_kernel_impl(...) { ... }
//   }  // namespace HWY_NAMESPACE
//   }  // namespace kvern::compute
//   HWY_AFTER_NAMESPACE();
//   #if HWY_ONCE
//   namespace kvern::compute {
//   constexpr auto kMyKernel = KVERN_TARGET_TABLE(my_kernel_impl);
//   void my_kernel(Context& context, ...) { kMyKernel[context.target()](...); }
//   }
//   #endif
#pragma once

#include <cstddef>

#include "base/check.h"
#include "compute/cpu_target.h"

namespace kvern::compute {

/// One function for each target; null where this build lacks the target. Only products know of AMX: all else
/// runs on what the target has besides.
template <typename Function>
struct TargetTable {
  Function functions[kCpuTargetCount];
  Function operator[](CpuTarget target) const {
    Function function = functions[static_cast<size_t>(target)];
    KVERN_CHECK(function != nullptr);
    return function;
  }
};

}  // namespace kvern::compute

#if defined(__x86_64__)
#define KVERN_TARGET_TABLE(fn)                                          \
  ::kvern::compute::TargetTable<decltype(&N_AVX2::fn)> {                \
    {                                                                   \
      &N_AVX2::fn, &N_AVX3::fn, &N_AVX3_DL::fn, &N_AVX3_DL::fn, nullptr \
    }                                                                   \
  }
#else
#define KVERN_TARGET_TABLE(fn)                           \
  ::kvern::compute::TargetTable<decltype(&N_NEON::fn)> { \
    {                                                    \
      nullptr, nullptr, nullptr, nullptr, &N_NEON::fn    \
    }                                                    \
  }
#endif
