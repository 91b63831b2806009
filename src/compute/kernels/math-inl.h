// exp, tanh and erfc on registers of f32: polynomials of fused multiply-adds, so that every instruction set
// gives the same bits. Errors are a few units in the last place; tests bound them against double precision.
//
// Coefficients: S. L. Moshier, Cephes Mathematical Library, single precision (expf, tanhf, ndtrf).
#if defined(KVERN_COMPUTE_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_COMPUTE_KERNELS_MATH_INL_H_
#undef KVERN_COMPUTE_KERNELS_MATH_INL_H_
#else
#define KVERN_COMPUTE_KERNELS_MATH_INL_H_
#endif

#include "hwy/highway.h"

#include "compute/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::compute {
namespace HWY_NAMESPACE {
namespace math {
namespace hn = hwy::HWY_NAMESPACE;
using lanes::IntTag;
using lanes::Tag;
using lanes::Vector;
using IntVector = hn::Vec<IntTag>;

HWY_INLINE Vector constant(float value) { return hn::Set(Tag(), value); }

/// Horner's rule, highest coefficient first, one fma for each further coefficient.
template <size_t kCount>
HWY_INLINE Vector polynomial(Vector x, const float (&coefficients)[kCount]) {
  Vector sum = constant(coefficients[0]);
  for (size_t i = 1; i < kCount; ++i) sum = hn::MulAdd(sum, x, constant(coefficients[i]));
  return sum;
}

/// 2^n for n in [-126, 127].
HWY_INLINE Vector power_of_two(IntVector n) {
  return hn::BitCast(Tag(), hn::ShiftLeft<23>(hn::Add(n, hn::Set(IntTag(), 127))));
}

struct Reduced {
  Vector mantissa;  ///< e^r, r = x - exponent * ln 2 in [-ln 2 / 2, ln 2 / 2]
  IntVector exponent;
};

/// For |x| < 105.
HWY_INLINE Reduced reduce_exp(Vector x) {
  const Vector n = hn::Round(hn::Mul(x, constant(1.44269504088896341F)));
  // ln 2 in two parts, the first of so few bits that n * 0.693359375 is exact.
  Vector r = hn::NegMulAdd(n, constant(0.693359375F), x);
  r = hn::NegMulAdd(n, constant(-2.12194440e-4F), r);
  constexpr float kCoefficients[] = {1.9875691500e-4F, 1.3981999507e-3F, 8.3334519073e-3F,
                                     4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F};
  const Vector tail = hn::Mul(polynomial(r, kCoefficients), r);
  // 1 + (r + tail * r): the small terms first.
  return {hn::Add(hn::MulAdd(tail, r, r), constant(1.0F)), hn::ConvertTo(IntTag(), n)};
}

/// e^x for every x: subnormal results, 0 and infinity where they belong, NaN stays NaN.
HWY_INLINE Vector exp(Vector x) {
  // The operand order of Min and Max lets a NaN through on x86 (the second operand is returned then).
  x = hn::Max(constant(-104.0F), hn::Min(constant(89.0F), x));
  const Reduced e = reduce_exp(x);
  const IntVector half = hn::ShiftRight<1>(e.exponent);
  return hn::Mul(hn::Mul(e.mantissa, power_of_two(half)), power_of_two(hn::Sub(e.exponent, half)));
}

/// e^x for x <= 0, where results below the normal range are 0 (weights of a softmax). Equal to exp()
/// elsewhere.
HWY_INLINE Vector exp_weight(Vector x) {
  const auto vanishes = hn::Lt(x, constant(-87.0F));
  const Reduced e = reduce_exp(hn::Max(constant(-87.0F), x));
  return hn::IfThenZeroElse(vanishes, hn::Mul(e.mantissa, power_of_two(e.exponent)));
}

HWY_INLINE Vector tanh(Vector x) {
  const Vector magnitude = hn::Abs(x);
  const Vector square = hn::Mul(x, x);
  constexpr float kSmall[] = {-5.70498872745e-3F, 2.06390887954e-2F, -5.37397155531e-2F, 1.33314422036e-1F,
                              -3.33332819422e-1F};
  const Vector small = hn::MulAdd(hn::Mul(polynomial(square, kSmall), square), x, x);
  const Vector quotient =
      hn::Div(constant(2.0F), hn::Add(exp(hn::Add(magnitude, magnitude)), constant(1.0F)));
  const Vector large = hn::CopySign(hn::Sub(constant(1.0F), quotient), x);
  return hn::IfThenElse(hn::Lt(magnitude, constant(0.625F)), small, large);
}

/// erfc(x) for x >= 1: e^(-x^2) / x * P(1 / x^2).
HWY_INLINE Vector erfc_tail(Vector x) {
  constexpr float kNear[] = {2.326819970068386e-2F,  -1.387039388740657e-1F, 3.687424674597105e-1F,
                             -5.824733027278666e-1F, 6.210004621745983e-1F,  -4.944515323274145e-1F,
                             3.404879937665872e-1F,  -2.741127028184656e-1F, 5.638259427472472e-1F};
  constexpr float kFar[] = {-1.047766399936249e+1F, 1.297719955372516e+1F,  -7.495518717768503e+0F,
                            2.921019019210786e+0F,  -1.015265279202700e+0F, 4.218463358204948e-1F,
                            -2.820767439740514e-1F, 5.641895067754075e-1F};
  const Vector inverse = hn::Div(constant(1.0F), x);
  const Vector y = hn::Mul(inverse, inverse);
  const Vector p = hn::IfThenElse(hn::Lt(x, constant(2.0F)), polynomial(y, kNear), polynomial(y, kFar));
  return hn::Mul(hn::Mul(exp(hn::Neg(hn::Mul(x, x))), inverse), p);
}

/// The distribution function of the standard normal law.
HWY_INLINE Vector normal_cdf(Vector x) {
  const Vector z = hn::Mul(x, constant(0.70710678118654752F));
  const Vector magnitude = hn::Abs(z);
  constexpr float kErf[] = {7.853861353153693e-5F,  -8.010193625184903e-4F, 5.188327685732524e-3F,
                            -2.685381193529856e-2F, 1.128358514861418e-1F,  -3.761262582423300e-1F,
                            1.128379165726710e+0F};
  const Vector half = constant(0.5F);
  const Vector near = hn::MulAdd(half, hn::Mul(z, polynomial(hn::Mul(z, z), kErf)), half);
  const Vector tail = hn::Mul(half, erfc_tail(hn::Max(constant(1.0F), magnitude)));
  const Vector far = hn::IfThenElse(hn::Lt(z, hn::Zero(Tag())), tail, hn::Sub(constant(1.0F), tail));
  return hn::IfThenElse(hn::Lt(magnitude, constant(1.0F)), near, far);
}

}  // namespace math
}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
