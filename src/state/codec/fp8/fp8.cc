// Keys and values as 8-bit floats of the format e4m3fn (OCP 8-bit Floating Point Specification, 2023): no
// scale, nearest even, magnitudes beyond 448 become 448, NaN stays NaN. One plane, padded with zeros to whole
// groups of 16.
#include "state/codec/fp8/fp8.h"

#include "compute/kernels/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "state/codec/fp8/fp8.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "state/codec/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::state {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using elements::F32x16;
namespace lanes = compute::HWY_NAMESPACE::lanes;

struct Fp8 {
  static constexpr int64_t kBytes = 1;

  // Exponent and fraction become those of half precision, whose exponents are larger by 8; so that numbers
  // below the normal range are exact as well.
  static HWY_INLINE F32x16 load(const std::byte* p) {
    const lanes::Tag d;
    const hn::Rebind<int8_t, lanes::Tag> bytes;
    const hn::Rebind<int16_t, lanes::Tag> halves;
    const hn::Rebind<hwy::float16_t, lanes::Tag> half;
    const auto* from = reinterpret_cast<const int8_t*>(p);
    return lanes::make([&](size_t i) HWY_ATTR {
      const auto v = hn::PromoteTo(halves, hn::LoadU(bytes, from + i * lanes::kWidth));
      const auto bits = hn::And(hn::ShiftLeft<7>(v), hn::Set(halves, static_cast<int16_t>(0xbf80)));
      const auto x = hn::Mul(hn::PromoteTo(d, hn::BitCast(half, bits)), hn::Set(d, 256.0F));
      const auto nan = hn::Eq(hn::Abs(x), hn::Set(d, 480.0F));
      return hn::IfThenElse(nan, hn::Set(d, __builtin_nanf("")), x);
    });
  }

  static HWY_INLINE void store(const F32x16& v, std::byte* p) {
    const lanes::Tag d;
    const hn::RebindToSigned<lanes::Tag> ints;
    const hn::Rebind<uint8_t, lanes::Tag> bytes;
    auto* to = reinterpret_cast<uint8_t*>(p);
    for (size_t i = 0; i < lanes::kParts; ++i) {
      const auto x = v.part[i];
      const auto magnitude = hn::Abs(x);
      const auto bits = hn::BitCast(ints, magnitude);
      // Normal: half a unit of the last of three bits (less one where that bit is even), then a cut.
      const auto odd = hn::And(hn::ShiftRight<20>(bits), hn::Set(ints, 1));
      const auto cut = hn::ShiftRight<20>(hn::Add(bits, hn::Add(odd, hn::Set(ints, 0x7ffff))));
      const auto normal = hn::Sub(cut, hn::Set(ints, (127 - 7) << 3));
      // Below 2^-6: multiples of 2^-9, the last bit of 2^14.
      const auto shifted = hn::Add(magnitude, hn::Set(d, 16384.0F));
      const auto small = hn::Sub(hn::BitCast(ints, shifted), hn::BitCast(ints, hn::Set(d, 16384.0F)));
      const auto is_small = hn::RebindMask(ints, hn::Lt(magnitude, hn::Set(d, 0x1p-6F)));
      const auto number = hn::Min(hn::IfThenElse(is_small, small, normal), hn::Set(ints, 0x7e));
      const auto nan = hn::RebindMask(ints, hn::IsNaN(x));
      const auto sign = hn::And(hn::ShiftRight<24>(hn::BitCast(ints, x)), hn::Set(ints, 0x80));
      const auto code = hn::Or(sign, hn::IfThenElse(nan, hn::Set(ints, 0x7f), number));
      hn::StoreU(hn::DemoteTo(bytes, code), bytes, to + i * lanes::kWidth);
    }
  }
};

}  // namespace

using Fp8Elements = elements::ElementCodec<Fp8>;
const CodecKernels& fp8_kernels() {
  static constexpr CodecKernels kKernels = Fp8Elements::kernels();
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::state {
namespace {

constexpr auto kKernels = KVERN_TARGET_TABLE(fp8_kernels);

bool takes(const Codec&, int64_t) { return true; }
size_t record_bytes(const Codec&, int, int64_t dim) { return static_cast<size_t>(padded(dim)); }
const CodecKernels& kernels(compute::CpuTarget target) { return kKernels[target](); }

}  // namespace

constinit const Codec kFp8Codec = {.kind = CodecKind::kFp8,
                                   .name = "fp8",
                                   .takes = &takes,
                                   .record_bytes = &record_bytes,
                                   .kernels = &kernels};

}  // namespace kvern::state
#endif  // HWY_ONCE
