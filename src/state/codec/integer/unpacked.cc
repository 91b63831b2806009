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

// Only the unpack kernels of other codecs write this form.
void no_encode(const EncodeTask&, const EncodedRun&) { KVERN_CHECK(false); }

}  // namespace

template <bool kNarrow>
const CodecKernels& unpacked_kernels() {
  using F = integer::Form<8, integer::FloatParameters, false, kNarrow>;
  static constexpr CodecKernels kKernels = {&no_encode,
                                            &integer::decode<F>,
                                            &integer::query_bytes,
                                            &integer::prepare<F>,
                                            &integer::scores<F>,
                                            &integer::accumulate<F>,
                                            nullptr};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::state::integer {
namespace {

size_t record_bytes(const Codec& codec, int plane, int64_t dim) {
  return static_cast<size_t>(plane == 0 ? dim : dim / codec.group * 4);
}

template <bool kNarrow>
const CodecKernels& kernels(compute::CpuTarget target) {
  static constexpr auto kKernels = KVERN_TARGET_TABLE(unpacked_kernels<kNarrow>);
  return kKernels[target]();
}

template <bool kNarrow>
constexpr Codec unpacked(std::string_view name, int64_t group) {
  return {.kind = CodecKind::kAffine,
          .bits = 8,
          .group = group,
          .name = name,
          .planes = 3,
          .takes = &takes_groups,
          .record_bytes = &record_bytes,
          .kernels = &kernels<kNarrow>};
}

}  // namespace

constinit const std::array<Codec, 6> kUnpackedForms = {
    {unpacked<false>("unpacked32", 32), unpacked<false>("unpacked64", 64),
     unpacked<false>("unpacked128", 128), unpacked<true>("narrow32", 32), unpacked<true>("narrow64", 64),
     unpacked<true>("narrow128", 128)}};

bool takes_groups(const Codec& codec, int64_t dim) {
  return dim > 0 && dim <= kMaxDim && dim % codec.group == 0;
}

size_t grouped_record_bytes(const Codec& codec, int plane, int64_t dim) {
  if (plane == 0) return static_cast<size_t>(dim * codec.bits / 8);
  return static_cast<size_t>(dim / codec.group) * 2;
}

}  // namespace kvern::state::integer
#endif  // HWY_ONCE
