// The kernels of each number of bits, one source file for each: they take long to compile.
#pragma once

#include "state/codec/codec.h"

namespace kvern::state::affine {

const CodecKernels& q8_kernels(compute::CpuTarget target);
const CodecKernels& q6_kernels(compute::CpuTarget target);
const CodecKernels& q5_kernels(compute::CpuTarget target);
const CodecKernels& q4_kernels(compute::CpuTarget target);
const CodecKernels& q3_kernels(compute::CpuTarget target);
const CodecKernels& q2_kernels(compute::CpuTarget target);

}  // namespace kvern::state::affine
