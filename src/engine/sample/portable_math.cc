// Method: exp by reduction to |r| <= ln(2)/2 with ln(2) in two parts (Cody and Waite) and the Taylor
// polynomial; log by reduction to [sqrt(1/2), sqrt(2)) and the series of 2 artanh((m - 1) / (m + 1)).
#include "engine/sample/portable_math.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/check.h"

namespace kvern::engine {
namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0;
// The high part has 32 significant bits, so that k * kLn2High is exact for every exponent k.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kSqrt2 = 0x1.6a09e667f3bcdp+0;
constexpr double kSmallestExponent = -708;
constexpr double kLargestExponent = 709;
// Adding and subtracting 1.5 * 2^52 rounds to the nearest integer.
constexpr double kRound = 0x1.8p+52;

constexpr int kExpTerms = 14;  // The first term left out, r^15 / 15!, is below 2^-63 for |r| <= 0.3466.
constexpr int kLogTerms = 11;  // The first term left out, s^24 / 25, is below 2^-65 for |s| <= 0.1716.

constexpr std::array<double, kExpTerms + 1> inverse_factorials() {
  std::array<double, kExpTerms + 1> values{};
  double factorial = 1;
  for (int n = 0; n <= kExpTerms; ++n) {
    if (n > 0) factorial *= n;
    values[static_cast<size_t>(n)] = 1 / factorial;
  }
  return values;
}
constexpr std::array<double, kExpTerms + 1> kInverseFactorials = inverse_factorials();

constexpr std::array<double, kLogTerms + 1> odd_inverses() {
  std::array<double, kLogTerms + 1> values{};
  for (int n = 0; n <= kLogTerms; ++n) values[static_cast<size_t>(n)] = 1.0 / (2 * n + 1);
  return values;
}
constexpr std::array<double, kLogTerms + 1> kOddInverses = odd_inverses();

}  // namespace

double portable_exp(double x) {
  KVERN_DCHECK(x == x);
  if (x < kSmallestExponent) return 0;
  if (x > kLargestExponent) return std::numeric_limits<double>::infinity();
  const double k = (x * kLog2E + kRound) - kRound;
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double sum = kInverseFactorials.back();
  for (size_t n = kExpTerms; n-- > 0;) sum = sum * r + kInverseFactorials[n];
  const auto biased = static_cast<uint64_t>(static_cast<int64_t>(k) + 1023);
  // k may be 1023 with sum below 1 and -1021 with sum above it: always a normal number.
  return sum * std::bit_cast<double>(biased << 52);
}

double portable_log(double x) {
  KVERN_DCHECK(x >= std::numeric_limits<double>::min() && x <= std::numeric_limits<double>::max());
  const auto bits = std::bit_cast<uint64_t>(x);
  auto exponent = static_cast<int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000F'FFFF'FFFF'FFFF) | (uint64_t{1023} << 52));
  if (m > kSqrt2) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  double series = 0;
  for (size_t n = kLogTerms; n > 0; --n) series = (series + kOddInverses[n]) * s2;
  const auto k = static_cast<double>(exponent);
  return k * kLn2High + (k * kLn2Low + 2 * (s + s * series));
}

}  // namespace kvern::engine
