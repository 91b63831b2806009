// Keys and values rounded to IEEE half precision (nearest even): one plane, padded with zeros to whole groups
// of 16.
#include "state/codec/f16/f16.h"

#include "compute/kernels/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "state/codec/f16/f16.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "state/codec/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::state {
namespace HWY_NAMESPACE {

using F16 = elements::ElementCodec<elements::F16>;
const CodecKernels& f16_kernels() {
  static constexpr CodecKernels kKernels = F16::kernels();
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::state {
namespace {

constexpr auto kKernels = KVERN_TARGET_TABLE(f16_kernels);

bool takes(const Codec&, int64_t) { return true; }
size_t record_bytes(const Codec&, int, int64_t dim) { return 2 * static_cast<size_t>(padded(dim)); }
const CodecKernels& kernels(compute::CpuTarget target) { return kKernels[target](); }

}  // namespace

constinit const Codec kF16Codec = {.kind = CodecKind::kF16,
                                   .name = "f16",
                                   .takes = &takes,
                                   .record_bytes = &record_bytes,
                                   .kernels = &kernels};

}  // namespace kvern::state
#endif  // HWY_ONCE
