// Sums over one row, in an order that depends on the row's length only (docs/numerics.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace kvern::model {

/// The sum of term(i) for i in [0, n), in double: element i is added to lane i mod 8, then the lanes are
/// folded, 4 onto 4, 2 onto 2, 1 onto 1.
template <typename Term>
double row_sum(int64_t n, Term term) {
  constexpr int64_t kLanes = 8;
  std::array<double, kLanes> lanes{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[static_cast<size_t>(lane)] += term(i + lane);
  for (int64_t lane = 0; i < n; ++i, ++lane) lanes[static_cast<size_t>(lane)] += term(i);
  for (size_t half = kLanes / 2; half > 0; half /= 2)
    for (size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

/// The mean of the squares of x [n], rounded to f32.
inline float mean_square(const float* x, int64_t n) {
  const double sum = row_sum(n, [x](int64_t i) { return double{x[i]} * double{x[i]}; });
  return static_cast<float>(sum / static_cast<double>(n));
}

}  // namespace kvern::model
