// Matrix products: one plain loop nest for each kind of weight, compiled for every target.
#include "compute/kernels/matmul.h"

#include <bit>
#include <cmath>

#include "base/check.h"
#include "compute/kernels/dispatch.h"
#include "compute/kernels/weights/formats.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/kernels/matmul.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

#include "compute/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::compute {
namespace HWY_NAMESPACE {

using weights::kUnit;

struct QuantizedUnit {
  int8_t q[kUnit];
  float d;
  int32_t sum[2];
};

void quantize_unit(const float* x, QuantizedUnit& out) {
  uint32_t largest = 0;
  for (int i = 0; i < kUnit; ++i) largest = std::max(largest, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu);
  const float amax = std::bit_cast<float>(largest);
  const bool finite = largest < 0x7f800000u;
  const bool tiny = amax < 0x1p-100f;
  out.d = !finite ? std::nanf("") : tiny ? 0.0f : amax / 127.0f;
  const float inverse = !finite || tiny ? 0.0f : 127.0f / amax;
  out.sum[0] = out.sum[1] = 0;
  for (int i = 0; i < kUnit; ++i) {
    out.q[i] = inverse == 0.0f ? 0 : static_cast<int8_t>(std::lrintf(x[i] * inverse));
    out.sum[i / 16] += out.q[i];
  }
}

template <typename Format>
float quantized_dot(const weights::RowSource& row, const QuantizedUnit* x, int64_t units) {
  float acc = 0.0f;
  weights::Unit w;
  for (int64_t u = 0; u < units; ++u) {
    Format::unpack(row, u, w);
    int dot[2] = {0, 0};
    for (int i = 0; i < kUnit; ++i) dot[i / 16] += (w.codes[i] - Format::kOffset) * x[u].q[i];
    if constexpr (Format::kScales == 2) {
      acc = std::fma(w.scale[0] * x[u].d, static_cast<float>(dot[0]), acc);
      acc = std::fma(w.scale[1] * x[u].d, static_cast<float>(dot[1]), acc);
    } else {
      acc = std::fma(w.scale[0] * x[u].d, static_cast<float>(dot[0] + dot[1]), acc);
    }
    if constexpr (Format::kHasMin) {
      acc = std::fma(w.min, x[u].d * static_cast<float>(x[u].sum[0] + x[u].sum[1]), acc);
    }
  }
  return acc;
}

template <typename Load, typename LoadPartial>
float plain_dot(const float* x, int64_t cols, Load load, LoadPartial load_partial) {
  auto acc = lanes::zero();
  int64_t k = 0;
  for (; k + 16 <= cols; k += 16) acc = lanes::fma(load(k), lanes::load(x + k), acc);
  if (k < cols) {
    const auto rest = static_cast<size_t>(cols - k);
    acc = lanes::fma(load_partial(k, rest), lanes::load_partial(x + k, rest), acc);
  }
  return lanes::reduce_sum(acc);
}

float plain_row_dot(const WeightMatrix& w, int64_t row, const float* x) {
  const std::byte* data = w.data + static_cast<size_t>(row) * w.row_stride_bytes;
  if (w.type == DType::kF16) {
    return plain_dot(
        x, w.cols, [&](int64_t k) HWY_ATTR { return lanes::load_f16(data + 2 * k); },
        [&](int64_t k, size_t n) HWY_ATTR { return lanes::load_f16_partial(data + 2 * k, n); });
  }
  if (w.type == DType::kBF16) {
    return plain_dot(
        x, w.cols, [&](int64_t k) HWY_ATTR { return lanes::load_bf16(data + 2 * k); },
        [&](int64_t k, size_t n) HWY_ATTR { return lanes::load_bf16_partial(data + 2 * k, n); });
  }
  const auto* values = reinterpret_cast<const float*>(data);
  return plain_dot(
      x, w.cols, [&](int64_t k) HWY_ATTR { return lanes::load(values + k); },
      [&](int64_t k, size_t n) HWY_ATTR { return lanes::load_partial(values + k, n); });
}

void matmul_task(const MatmulInput& input, const MatmulTask& task, const QuantizedUnit* x, int64_t row) {
  const WeightMatrix& w = task.weight;
  const int64_t units = input.cols / kUnit;
  for (int64_t t = 0; t < input.tokens; ++t) {
    float& out = task.out[t * task.out_stride + row];
    if (!weights::is_quantized(w.type)) {
      out = plain_row_dot(w, row, input.x + t * input.stride);
      continue;
    }
    weights::visit_quantized(w.type, [&](auto format) {
      out = quantized_dot<decltype(format)>(weights::row_source(w, row), x + t * units, units);
    });
  }
}

void matmul_target(Context& context, const MatmulInput& input, std::span<const MatmulTask> tasks) {
  const int64_t units = input.cols / kUnit;
  bool quantized = false;
  for (const MatmulTask& task : tasks) quantized |= weights::is_quantized(task.weight.type);
  QuantizedUnit* x = nullptr;
  if (quantized) {
    const auto count = static_cast<size_t>(input.tokens * units);
    x = reinterpret_cast<QuantizedUnit*>(context.shared_scratch().get(count * sizeof(QuantizedUnit)));
    context.pool().run(input.tokens, [&](int64_t t, int) {
      for (int64_t u = 0; u < units; ++u) {
        quantize_unit(input.x + t * input.stride + u * kUnit, x[t * units + u]);
      }
    });
  }
  for (const MatmulTask& task : tasks) {
    constexpr int64_t kRows = 16;
    context.pool().run((task.weight.rows + kRows - 1) / kRows, [&](int64_t panel, int) {
      const int64_t end = std::min(task.weight.rows, (panel + 1) * kRows);
      for (int64_t row = panel * kRows; row < end; ++row) matmul_task(input, task, x, row);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::compute {
namespace {
constexpr auto kMatmul = KVERN_TARGET_TABLE(matmul_target);
}

void matmul(Context& context, const MatmulInput& input, std::span<const MatmulTask> tasks) {
  for (const MatmulTask& task : tasks) {
    const WeightMatrix& w = task.weight;
    KVERN_CHECK(w.cols == input.cols);
    KVERN_CHECK(!weights::is_quantized(w.type) || w.cols % traits(w.type).block_elements == 0);
    KVERN_CHECK(w.type != DType::kAffine4 && w.type != DType::kAffine8 ? true
                                                                       : w.cols % w.affine.group_size == 0);
  }
  kMatmul[context.target()](context, input, tasks);
}

}  // namespace kvern::compute
#endif
