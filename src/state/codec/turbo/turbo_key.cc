#include <array>

#include "compute/kernels/dispatch.h"
#include "state/codec/integer/unpacked.h"
#include "state/codec/turbo/turbo.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "state/codec/turbo/turbo_key.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "state/codec/integer/kernels-inl.h"

KVERN_BEFORE_INTEGER();
namespace kvern::state {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
namespace lanes = compute::HWY_NAMESPACE::lanes;
using integer::F32x16;

/// Indices are 0 to 2^kBits - 1; of 8 bits, -127 to 127, stored as signed bytes.
template <int kBits>
struct Encoder {
  static constexpr bool kSigned = kBits == 8;
  static constexpr float kMax = kSigned ? 127.0F : (1 << kBits) - 1;
  static constexpr float kMin = kSigned ? -kMax : 0.0F;

  static HWY_INLINE void group(const integer::GroupNumbers& numbers, uint8_t* codes, float& scale,
                               float& zero) {
    std::memset(codes, 0, turbo::kGroup);
    const auto range = numbers.range();
    if (!range.finite) {
      scale = zero = __builtin_nanf("");
      return;
    }
    scale = (range.high - range.low) / (kMax - kMin);
    const float divisor = scale + turbo::kEpsilon;
    zero = nearest_even(kSigned ? (range.high + range.low) / (2.0F * divisor) : range.low / divisor);
    // Where half precision cannot hold them (the scale is less than half its smallest step, or the zero
    // overflows), the numbers are alike to all of its digits: the group becomes its middle, (0 + 1) * scale.
    if (!(scale > 0x1p-25F) || !(__builtin_fabsf(zero) < 65520.0F)) {
      scale = 0.5F * range.low + 0.5F * range.high;
      zero = 1.0F;
      return;
    }
    quantize(numbers, divisor, zero, codes);
  }

 private:
  static HWY_INLINE float nearest_even(float x) {
    return hn::GetLane(hn::Round(hn::Set(hn::Full128<float>(), x)));
  }

  static HWY_INLINE void quantize(const integer::GroupNumbers& numbers, float divisor, float zero,
                                  uint8_t* codes) {
    const lanes::Tag d;
    const hn::Rebind<uint8_t, lanes::Tag> narrow;
    const auto low = hn::Set(d, kMin);
    for (int64_t i = 0; i < numbers.registers; ++i) {
      for (int j = 0; j < integer::kParts; ++j) {
        const auto quotient = hn::Div(numbers.x[i].part[j], hn::Set(d, divisor));
        const auto index = hn::Round(hn::Sub(quotient, hn::Set(d, zero)));
        // A NaN (infinite numbers over an infinite scale) takes the lower limit.
        const auto kept = hn::IfThenElse(hn::Gt(index, low), hn::Min(index, hn::Set(d, kMax)), low);
        const auto code = hn::And(hn::ConvertTo(lanes::IntTag(), kept), hn::Set(lanes::IntTag(), 0xff));
        hn::StoreU(hn::DemoteTo(narrow, code), narrow, codes + 16 * i + j * integer::kWidth);
      }
    }
  }
};

}  // namespace

namespace turbo_key {

/// number = (index + zero) * scale.
template <typename F, bool kSigned>
void decode(const VectorShape& shape, const EncodedRun& from, float* out) {
  const int64_t groups = shape.dim / turbo::kGroup;
  const F32x16 offset = lanes::set(kSigned ? 128.0F : 0.0F);
  for (int64_t i = 0; i < from.count * groups; ++i, out += turbo::kGroup) {
    uint16_t stored[2];
    std::memcpy(&stored[0], from.planes[1] + 2 * i, 2);
    std::memcpy(&stored[1], from.planes[2] + 2 * i, 2);
    alignas(32) uint16_t scales[16];
    alignas(32) uint16_t zeros[16];
    std::fill_n(scales, 16, stored[0]);
    std::fill_n(zeros, 16, stored[1]);
    const F32x16 scale = lanes::load_f16(scales);
    const F32x16 zero = lanes::load_f16(zeros);
    alignas(64) uint8_t codes[turbo::kGroup];
    integer::unsigned_codes<F, kSigned>(from.planes[0] + F::code_bytes(i * turbo::kGroup), 0, turbo::kGroup,
                                        codes);
    for (int64_t d = 0; d < turbo::kGroup; d += 16) {
      const F32x16 index = lanes::sub(integer::codes_to_float(codes + d), offset);
      lanes::store(lanes::mul(lanes::add(index, zero), scale), out + d);
    }
  }
}

}  // namespace turbo_key

template <int kBits>
const CodecKernels& turbo_key_kernels() {
  constexpr bool kSigned = Encoder<kBits>::kSigned;
  using F = integer::Form<kBits, integer::ZeroParameters<kSigned ? 128 : 0>, kSigned>;
  static constexpr CodecKernels kKernels = {&integer::encode<F, Encoder<kBits>>,
                                            &turbo_key::decode<F, kSigned>,
                                            &integer::query_bytes,
                                            &integer::prepare<F>,
                                            &integer::scores<F>,
                                            &integer::accumulate<F>,
                                            &integer::unpack<F, kSigned>};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::state {
namespace {

template <int kBits>
const CodecKernels& kernels(compute::CpuTarget target) {
  static constexpr auto kKernels = KVERN_TARGET_TABLE(turbo_key_kernels<kBits>);
  return kKernels[target]();
}

bool takes(const Codec&, int64_t dim) { return turbo::takes_dim(dim); }

template <int kBits>
constexpr Codec key_codec(std::string_view name) {
  return {.kind = CodecKind::kTurboKey,
          .bits = kBits,
          .group = turbo::kGroup,
          .name = name,
          .planes = 3,
          .takes = &takes,
          .record_bytes = &integer::grouped_record_bytes,
          .kernels = &kernels<kBits>,
          .unpacked = &integer::unpacked_form(kBits, turbo::kGroup)};
}

constinit const std::array<Codec, 4> kCodecs = {
    {key_codec<8>("turbo-k8"), key_codec<5>("turbo-k5"), key_codec<4>("turbo-k4"), key_codec<2>("turbo-k2")}};

}  // namespace

std::span<const Codec> turbo_key_codecs() { return kCodecs; }

}  // namespace kvern::state
#endif  // HWY_ONCE
