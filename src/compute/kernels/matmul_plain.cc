// Products with f32, f16 and bf16 weights, used as they lie in the file: sixteen partial sums by column mod
// 16 in the sixteen lanes, then the tree of lanes-inl.h. Each output has lanes of its own, so any register
// tile gives the same bits. The columns beyond the last multiple of 16 are filled up with zeros.
#include "compute/kernels/dispatch.h"
#include "compute/kernels/matmul_internal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/kernels/matmul_plain.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

#include "compute/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::compute {
namespace HWY_NAMESPACE {
namespace matmul_plain_detail {

using internal::MatmulJob;

struct F32Weights {
  static constexpr size_t kBytes = 4;
  static HWY_INLINE lanes::F32x16 load(const std::byte* p) { return lanes::load_bytes(p); }
  static HWY_INLINE lanes::F32x16 load_partial(const std::byte* p, size_t n) {
    return lanes::load_bytes_partial(p, n);
  }
};
struct F16Weights {
  static constexpr size_t kBytes = 2;
  static HWY_INLINE lanes::F32x16 load(const std::byte* p) { return lanes::load_f16(p); }
  static HWY_INLINE lanes::F32x16 load_partial(const std::byte* p, size_t n) {
    return lanes::load_f16_partial(p, n);
  }
};
struct BF16Weights {
  static constexpr size_t kBytes = 2;
  static HWY_INLINE lanes::F32x16 load(const std::byte* p) { return lanes::load_bf16(p); }
  static HWY_INLINE lanes::F32x16 load_partial(const std::byte* p, size_t n) {
    return lanes::load_bf16_partial(p, n);
  }
};

/// Where a register tile reads and writes.
struct Tile {
  const std::byte* w;
  size_t w_stride;
  const float* x;
  int64_t x_stride;
  float* out;
  int64_t out_stride;
  int64_t cols;
};

/// R rows x T tokens.
template <typename W, int R, int T>
HWY_NOINLINE void multiply_tile(const Tile& tile) {
  lanes::F32x16 sums[R][T];
  for (int r = 0; r < R; ++r) {
    for (int t = 0; t < T; ++t) sums[r][t] = lanes::zero();
  }
  const int64_t whole = tile.cols / 16 * 16;
  for (int64_t k = 0; k < whole; k += 16) {
    lanes::F32x16 x[T];
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) x[t] = lanes::load(tile.x + t * tile.x_stride + k);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const std::byte* p =
          tile.w + static_cast<size_t>(r) * tile.w_stride + static_cast<size_t>(k) * W::kBytes;
      const auto w = W::load(p);
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) sums[r][t] = lanes::fma(w, x[t], sums[r][t]);
    }
  }
  if (whole < tile.cols) {
    const auto rest = static_cast<size_t>(tile.cols - whole);
    for (int r = 0; r < R; ++r) {
      const std::byte* p =
          tile.w + static_cast<size_t>(r) * tile.w_stride + static_cast<size_t>(whole) * W::kBytes;
      const auto w = W::load_partial(p, rest);
      for (int t = 0; t < T; ++t) {
        const auto x = lanes::load_partial(tile.x + t * tile.x_stride + whole, rest);
        sums[r][t] = lanes::fma(w, x, sums[r][t]);
      }
    }
  }
  for (int t = 0; t < T; ++t) {
    for (int r = 0; r < R; ++r) tile.out[t * tile.out_stride + r] = lanes::reduce_sum(sums[r][t]);
  }
}

#if HWY_TARGET == HWY_AVX2
inline constexpr int kRows = 2;
inline constexpr int kTokens = 2;
#else
inline constexpr int kRows = 4;
inline constexpr int kTokens = 4;
#endif

template <typename W, int R>
void multiply_rows(const MatmulInput& input, Tile tile) {
  float* const out = tile.out;
  int64_t t = 0;
  for (; t + kTokens <= input.tokens; t += kTokens) {
    tile.x = input.x + t * input.stride;
    tile.out = out + t * tile.out_stride;
    multiply_tile<W, R, kTokens>(tile);
  }
  for (; t < input.tokens; ++t) {
    tile.x = input.x + t * input.stride;
    tile.out = out + t * tile.out_stride;
    multiply_tile<W, R, 1>(tile);
  }
}

template <typename W>
void run_type(const MatmulInput& input, const MatmulJob& job) {
  const WeightMatrix& w = job.task->weight;
  const int64_t end = job.first_row + job.rows;
  for (int64_t row = job.first_row; row < end;) {
    const Tile tile = {w.data + static_cast<size_t>(row) * w.row_stride_bytes,
                       w.row_stride_bytes,
                       input.x,
                       input.stride,
                       job.task->out + row,
                       job.task->out_stride,
                       input.cols};
    if (end - row >= kRows) {
      multiply_rows<W, kRows>(input, tile);
      row += kRows;
    } else {
      multiply_rows<W, 1>(input, tile);
      ++row;
    }
  }
}

void run(const MatmulInput& input, const MatmulJob& job) {
  switch (job.task->weight.type) {
    case DType::kF16:
      return run_type<F16Weights>(input, job);
    case DType::kBF16:
      return run_type<BF16Weights>(input, job);
    default:
      return run_type<F32Weights>(input, job);
  }
}

}  // namespace matmul_plain_detail
}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::compute::internal {
namespace {
constexpr auto kRun = KVERN_TARGET_TABLE(matmul_plain_detail::run);
}

PlainMatmul plain_matmul(CpuTarget target) { return kRun[target]; }

}  // namespace kvern::compute::internal
#endif
