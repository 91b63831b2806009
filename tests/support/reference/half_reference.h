// The 16-bit formats, obvious and slow: values rounded by their definition.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace kvern::reference {

/// A binary format of `digits` significant bits (the leading one included) and exponents from `min_exponent`
/// on.
struct FloatFormat {
  int digits;
  int min_exponent;
  double overflow;  ///< magnitudes from here on round to infinity
};
inline constexpr FloatFormat kHalf{11, -14, 65520.0};
/// Half a unit above the largest finite bfloat16.
inline const FloatFormat kBfloat{8, -126, std::ldexp(1.0, 128) - std::ldexp(1.0, 119)};

/// The nearest value of the format, ties to even; NaN stays NaN.
inline float round_to(float x, const FloatFormat& format) {
  if (!std::isfinite(x) || x == 0.0F) return x;
  const double value = x;
  if (std::abs(value) >= format.overflow) return std::copysign(std::numeric_limits<float>::infinity(), x);
  const int exponent = std::max(std::ilogb(value), format.min_exponent);
  const double unit = std::ldexp(1.0, exponent - format.digits + 1);
  return static_cast<float>(std::copysign(std::nearbyint(value / unit) * unit, value));
}

/// The value of half-precision bits.
inline float half_value(uint16_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  if (exponent == 31) {
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : static_cast<float>(sign) * std::numeric_limits<float>::infinity();
  }
  if (exponent == 0) return static_cast<float>(sign * std::ldexp(fraction, -24));
  return static_cast<float>(sign * std::ldexp(1024 + fraction, exponent - 25));
}

inline float bfloat_value(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace kvern::reference
