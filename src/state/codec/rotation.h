// Orthonormal rotations of a head's vector, applied before it is stored: they spread outliers over all
// dimensions, so that few bits lose less.
#pragma once

#include <cstdint>

#include "compute/cpu_target.h"

namespace kvern::state {

/// kHadamard: H/sqrt(n) in natural (Sylvester) order on blocks of n = the largest power of two that divides
/// the dimension. kSignedHadamard: the signs of TurboQuant first (docs/kv-codecs.md), then the same.
enum class Rotation : uint8_t { kNone, kHadamard, kSignedHadamard };

/// Vectors in place: [count, dim] floats, `stride` floats apart.
struct RotateTask {
  float* x = nullptr;
  int64_t count = 0;
  int64_t stride = 0;
  int64_t dim = 0;
};

struct RotationKernels {
  void (*forward)(const RotateTask& task);
  void (*inverse)(const RotateTask& task);
};

/// Pure, thread-safe, the same bits on every instruction set. Not for kNone.
RotationKernels rotation_kernels(Rotation rotation, compute::CpuTarget target);

/// Whether the rotation exists for vectors of `dim` numbers.
bool takes(Rotation rotation, int64_t dim);

}  // namespace kvern::state
