#include "state/codec/integer/unpacked.h"

#include "base/check.h"
#include "compute/kernels/dispatch.h"
#include "state/codec/integer/limits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "state/codec/integer/unpacked.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "state/codec/integer/kernels-inl.h"

KVERN_BEFORE_INTEGER();
namespace kvern::state {
namespace HWY_NAMESPACE {
namespace {

using Unpacked = integer::Form<8, integer::FloatParameters>;

// Only the unpack kernels of other codecs write this form.
void no_encode(const EncodeTask&, const EncodedRun&) { KVERN_CHECK(false); }

}  // namespace

const CodecKernels& unpacked_kernels() {
  static constexpr CodecKernels kKernels = {&no_encode,
                                            &integer::decode<Unpacked>,
                                            &integer::query_bytes,
                                            &integer::prepare,
                                            &integer::scores<Unpacked>,
                                            &integer::accumulate<Unpacked>,
                                            nullptr};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::state::integer {
namespace {

constexpr auto kKernels = KVERN_TARGET_TABLE(unpacked_kernels);

size_t record_bytes(const Codec& codec, int plane, int64_t dim) {
  return static_cast<size_t>(plane == 0 ? dim : dim / codec.group * 4);
}
const CodecKernels& kernels(compute::CpuTarget target) { return kKernels[target](); }

constexpr Codec unpacked(std::string_view name, int64_t group) {
  return {.kind = CodecKind::kAffine,
          .bits = 8,
          .group = group,
          .name = name,
          .planes = 3,
          .takes = &takes_groups,
          .record_bytes = &record_bytes,
          .kernels = &kernels};
}

}  // namespace

constinit const Codec kUnpacked32 = unpacked("unpacked32", 32);
constinit const Codec kUnpacked64 = unpacked("unpacked64", 64);
constinit const Codec kUnpacked128 = unpacked("unpacked128", 128);

bool takes_groups(const Codec& codec, int64_t dim) {
  return dim > 0 && dim <= kMaxDim && dim % codec.group == 0;
}

size_t grouped_record_bytes(const Codec& codec, int plane, int64_t dim) {
  if (plane == 0) return static_cast<size_t>(dim * codec.bits / 8);
  return static_cast<size_t>(dim / codec.group) * 2;
}

}  // namespace kvern::state::integer
#endif  // HWY_ONCE
