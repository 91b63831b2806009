// One group of numbers to affine codes, step by step as MLX does it (docs/kv-codecs.md).
#if defined(KVERN_STATE_CODEC_AFFINE_ENCODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_STATE_CODEC_AFFINE_ENCODE_INL_H_
#undef KVERN_STATE_CODEC_AFFINE_ENCODE_INL_H_
#else
#define KVERN_STATE_CODEC_AFFINE_ENCODE_INL_H_
#endif

#include "hwy/highway.h"

#include <algorithm>
#include <cmath>

#include "state/codec/integer/kernels-inl.h"

KVERN_BEFORE_INTEGER();
namespace kvern::state::affine {
namespace HWY_NAMESPACE {
namespace integer = state::HWY_NAMESPACE::integer;
namespace hn = hwy::HWY_NAMESPACE;
namespace lanes = compute::HWY_NAMESPACE::lanes;

/// Half away from zero, for x >= 0: the part behind the point is exact, so nothing is rounded twice.
HWY_INLINE hn::Vec<lanes::Tag> round_up_half(hn::Vec<lanes::Tag> x) {
  const lanes::Tag d;
  const auto whole = hn::Trunc(x);
  const auto up = hn::Ge(hn::Sub(x, whole), hn::Set(d, 0.5F));
  return hn::Add(whole, hn::IfThenElseZero(up, hn::Set(d, 1.0F)));
}

template <int kBits>
struct Encoder {
  static constexpr float kMax = (1 << kBits) - 1;

  struct Line {
    float scale;
    float bias;
  };
  // The edge of larger magnitude is met exactly, by a whole number of steps from zero.
  static Line line(float low, float high) {
    high = high > 0.0F ? high : 0.0F;
    const float step = std::max((high - low) / kMax, 1e-7F);
    const bool from_low = std::abs(low) > std::abs(high);
    const float edge = from_low ? low : high;
    const float scale = from_low ? step : -step;
    const float steps = std::round(edge / scale);
    if (steps == 0.0F) return {scale, 0.0F};
    return {edge / steps, edge};
  }

  static HWY_INLINE void group(const integer::GroupNumbers& numbers, uint8_t* codes, float& scale,
                               float& bias) {
    const auto range = numbers.range();
    if (!range.finite) {
      std::fill_n(codes, numbers.registers * 16, uint8_t{0});
      scale = bias = __builtin_nanf("");
      return;
    }
    const Line line = Encoder::line(range.low, range.high);
    scale = line.scale;
    bias = line.bias;
    const lanes::Tag d;
    const auto s = hn::Set(d, line.scale);
    const auto b = hn::Set(d, line.bias);
    const auto max = hn::Set(d, kMax);
    for (int64_t i = 0; i < numbers.registers; ++i) {
      lanes::F32x16 code;
#pragma GCC unroll 4
      for (int j = 0; j < integer::kParts; ++j) {
        const auto x = hn::Div(hn::Sub(numbers.x[i].part[j], b), s);
        // A NaN (of an infinite or vanishing scale) becomes 0 as negative ones do.
        const auto kept = hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Min(x, max));
        code.part[j] = round_up_half(kept);
      }
      integer::store_codes(code, codes + 16 * i);
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace kvern::state::affine
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
