// The function table of affine codes of some number of bits, on one instruction set.
#if defined(KVERN_STATE_CODEC_AFFINE_KERNELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_STATE_CODEC_AFFINE_KERNELS_INL_H_
#undef KVERN_STATE_CODEC_AFFINE_KERNELS_INL_H_
#else
#define KVERN_STATE_CODEC_AFFINE_KERNELS_INL_H_
#endif

#include "hwy/highway.h"

#include "state/codec/affine/affine_encode-inl.h"
#include "state/codec/integer/kernels-inl.h"

KVERN_BEFORE_INTEGER();
namespace kvern::state::affine {
namespace HWY_NAMESPACE {

template <int kBits>
const CodecKernels& affine_kernels() {
  namespace integer = state::HWY_NAMESPACE::integer;
  using F = integer::Form<kBits, integer::HalfParameters>;
  static constexpr CodecKernels kKernels = {&integer::encode<F, Encoder<kBits>>,
                                            &integer::decode<F>,
                                            &integer::query_bytes,
                                            &integer::prepare<F>,
                                            &integer::scores<F>,
                                            &integer::accumulate<F>,
                                            &integer::unpack<F, false>};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::state::affine
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
