// The list of quantized formats, and the one place that maps a dtype to its type.
#pragma once

#include <utility>

#include "base/check.h"
#include "compute/kernels/weights/affine.h"
#include "compute/kernels/weights/q4_0.h"
#include "compute/kernels/weights/q4_k.h"
#include "compute/kernels/weights/q5_0.h"
#include "compute/kernels/weights/q6_k.h"
#include "compute/kernels/weights/q8_0.h"

namespace kvern::compute::weights {

/// Whether the type is made of units (unit.h) rather than of plain numbers.
constexpr bool is_quantized(DType type) {
  return type != DType::kF32 && type != DType::kF16 && type != DType::kBF16;
}

constexpr bool is_affine(DType type) { return type == DType::kAffine4 || type == DType::kAffine8; }

/// Whether a product with such weights quantizes the activations and sums integers. The affine types do not:
/// what reads them elsewhere multiplies in floating point.
constexpr bool quantizes_activations(DType type) { return is_quantized(type) && !is_affine(type); }

/// Calls `f(Format())` with the format of a dtype that quantizes_activations().
template <typename F>
decltype(auto) visit_blocks(DType type, F&& f) {
  switch (type) {
    case DType::kQ8_0:
      return f(Q8_0());
    case DType::kQ4_0:
      return f(Q4_0());
    case DType::kQ4_1:
      return f(Q4_1());
    case DType::kQ5_0:
      return f(Q5_0());
    case DType::kQ5_1:
      return f(Q5_1());
    case DType::kQ4_K:
      return f(Q4_K());
    case DType::kQ5_K:
      return f(Q5_K());
    case DType::kQ6_K:
      return f(Q6_K());
    case DType::kAffine4:
    case DType::kAffine8:
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      break;
  }
  kvern::internal::check_failed("the dtype is block-quantized", __FILE__, __LINE__);
}

/// Calls `f(Format())` with the format of a dtype that is_quantized().
template <typename F>
decltype(auto) visit_quantized(DType type, F&& f) {
  if (type == DType::kAffine4) return f(Affine4());
  if (type == DType::kAffine8) return f(Affine8());
  return visit_blocks(type, std::forward<F>(f));
}

}  // namespace kvern::compute::weights
