// The arithmetic that docs/numerics.md prescribes, in scalar code: 16 virtual lanes, the tree, and the weight
// function of softmax. What kernels must match bit for bit.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

namespace kvern::reference {

/// Lane i += lane i + 8, + 4, + 2, + 1.
inline float tree_sum(std::array<float, 16> lanes) {
  for (size_t step = 8; step > 0; step /= 2) {
    for (size_t i = 0; i < step; ++i) lanes[i] += lanes[i + step];
  }
  return lanes[0];
}

/// Dot product: 16 chains of fma by index mod 16, zero-extended to whole groups, then the tree.
inline float lanes_dot(std::span<const float> a, std::span<const float> b) {
  std::array<float, 16> lanes{};
  for (size_t i = 0; i < (a.size() + 15) / 16 * 16; ++i) {
    const bool inside = i < a.size();
    lanes[i % 16] = std::fmaf(inside ? a[i] : 0.0F, inside ? b[i] : 0.0F, lanes[i % 16]);
  }
  return tree_sum(lanes);
}

/// e^x = mantissa * 2^exponent for |x| < 105: math-inl.h's reduce_exp, one scalar operation for each of its
/// vector operations.
struct ReducedExp {
  float mantissa;
  int32_t exponent;
};
inline ReducedExp reduce_exp(float x) {
  const float n = std::nearbyintf(x * 1.44269504088896341F);
  float r = std::fmaf(-n, 0.693359375F, x);
  r = std::fmaf(-n, -2.12194440e-4F, r);
  float p = 1.9875691500e-4F;
  for (const float c :
       {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F}) {
    p = std::fmaf(p, r, c);
  }
  const float tail = p * r;
  return {std::fmaf(tail, r, r) + 1.0F, static_cast<int32_t>(n)};
}
inline float power_of_two(int32_t n) { return std::bit_cast<float>((n + 127) << 23); }

/// e^x for x <= 0: math-inl.h's exp_weight.
inline float exp_weight(float x) {
  if (x < -87.0F) return 0.0F;
  const ReducedExp e = reduce_exp(x);
  return e.mantissa * power_of_two(e.exponent);
}

/// math-inl.h's tanh.
inline float tanh_reference(float x) {
  const float magnitude = std::fabs(x);
  if (magnitude < 0.625F) {
    const float square = x * x;
    float p = -5.70498872745e-3F;
    for (const float c : {2.06390887954e-2F, -5.37397155531e-2F, 1.33314422036e-1F, -3.33332819422e-1F})
      p = std::fmaf(p, square, c);
    return std::fmaf(p * square, x, x);
  }
  const ReducedExp e = reduce_exp(std::fmin(89.0F, magnitude + magnitude));
  const int32_t half = e.exponent >> 1;
  const float exp = e.mantissa * power_of_two(half) * power_of_two(e.exponent - half);
  return std::copysign(1.0F - 2.0F / (exp + 1.0F), x);
}

}  // namespace kvern::reference
