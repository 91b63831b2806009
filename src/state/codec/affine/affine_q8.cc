// The kernels of affine codes of 8 bits.
#include "compute/kernels/dispatch.h"
#include "state/codec/affine/affine_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "state/codec/affine/affine_q8.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "state/codec/affine/affine_kernels-inl.h"

#if HWY_ONCE
namespace kvern::state::affine {

const CodecKernels& q8_kernels(compute::CpuTarget target) {
  static constexpr auto kKernels = KVERN_TARGET_TABLE(affine_kernels<8>);
  return kKernels[target]();
}

}  // namespace kvern::state::affine
#endif  // HWY_ONCE
