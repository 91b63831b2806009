// Stores of 16 virtual lanes as f16 or bf16, rounded to nearest even. The loads are in lanes-inl.h.
#if defined(KVERN_COMPUTE_KERNELS_HALF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_COMPUTE_KERNELS_HALF_INL_H_
#undef KVERN_COMPUTE_KERNELS_HALF_INL_H_
#else
#define KVERN_COMPUTE_KERNELS_HALF_INL_H_
#endif

#include "hwy/highway.h"

#include "compute/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::compute {
namespace HWY_NAMESPACE {
namespace half {
namespace hn = hwy::HWY_NAMESPACE;

/// Overflow gives infinity, subnormals are kept (the conversion instruction ignores flush-to-zero modes).
HWY_INLINE void store_f16(const lanes::F32x16& v, void* to) {
  const hn::Rebind<hwy::float16_t, lanes::Tag> tag;
  const hn::Rebind<uint16_t, lanes::Tag> bits;
  auto* p = static_cast<uint16_t*>(to);
  for (size_t i = 0; i < lanes::kParts; ++i) {
    hn::StoreU(hn::BitCast(bits, hn::DemoteTo(tag, v.part[i])), bits, p + i * lanes::kWidth);
  }
}

/// Adds half a unit of the last kept bit (less one where that bit is even) to the bits and cuts; a NaN is cut
/// and made quiet instead, since the addition could carry it into infinity.
HWY_INLINE void store_bf16(const lanes::F32x16& v, void* to) {
  const hn::RebindToUnsigned<lanes::Tag> wide;
  const hn::Rebind<uint16_t, lanes::Tag> narrow;
  auto* p = static_cast<uint16_t*>(to);
  for (size_t i = 0; i < lanes::kParts; ++i) {
    const auto bits = hn::BitCast(wide, v.part[i]);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(wide, 1u));
    const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(wide, 0x7fffu)));
    const auto quiet = hn::Or(bits, hn::Set(wide, 0x400000u));
    const auto nan = hn::RebindMask(wide, hn::IsNaN(v.part[i]));
    const auto kept = hn::ShiftRight<16>(hn::IfThenElse(nan, quiet, rounded));
    hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(lanes::IntTag(), kept)), narrow, p + i * lanes::kWidth);
  }
}

}  // namespace half
}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
