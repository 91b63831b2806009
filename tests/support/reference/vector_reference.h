// Kernels on rows and elements in double precision, straight from their formulas.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

namespace kvern::reference {

inline std::vector<double> rms_norm(std::span<const float> x, std::span<const float> weight, double eps,
                                    double offset) {
  double squares = 0.0;
  for (const double v : x) squares += v * v;
  const double root = std::sqrt(squares / static_cast<double>(x.size()) + eps);
  std::vector<double> out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(x[i] / root * (weight[i] + offset));
  return out;
}

inline std::vector<double> layer_norm(std::span<const float> x, std::span<const float> weight,
                                      std::span<const float> bias, double eps) {
  double mean = 0.0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  double variance = 0.0;
  for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
  std::vector<double> out;
  for (size_t i = 0; i < x.size(); ++i)
    out.push_back((x[i] - mean) / std::sqrt(variance + eps) * weight[i] + bias[i]);
  return out;
}

inline double silu(double x) { return x / (1.0 + std::exp(-x)); }
inline double gelu_tanh(double x) {
  // 0.5 (1 + tanh u) written without cancellation.
  const double u = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return x / (1.0 + std::exp(-2.0 * u));
}
inline double gelu_erf(double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }

inline double log_sum_exp(std::span<const float> x) {
  const double max = *std::ranges::max_element(x);
  double sum = 0.0;
  for (const double v : x) sum += std::exp(v - max);
  return max + std::log(sum);
}

}  // namespace kvern::reference
