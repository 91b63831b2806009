// Products with f32, f16 and bf16 weights, used as they lie in the file: sixteen partial sums by column mod
// 16 in the sixteen lanes, then the tree of lanes-inl.h. Each output has lanes of its own, so any register
// tile gives the same bits. The columns beyond the last multiple of 16 are filled up with zeros.
#include <algorithm>

#include "compute/kernels/dispatch.h"
#include "compute/kernels/matmul_internal.h"
#include "compute/kernels/matmul_rows.h"

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
using internal::Prefetch;

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

/// The sums of R rows x T tokens over the columns beyond the last multiple of 16.
template <typename W, int R, int T>
HWY_NOINLINE void add_rest(const Tile& tile, lanes::F32x16 (&sums)[R][T]) {
  const int64_t whole = tile.cols / 16 * 16;
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

/// R rows x T tokens.
template <typename W, int R, int T>
HWY_NOINLINE void multiply_tile(const Tile& tile, Prefetch& prefetch) {
  lanes::F32x16 sums[R][T];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) sums[r][t] = lanes::zero();
  }
  const int64_t whole = tile.cols / 16 * 16;
  for (int64_t k = 0; k < whole; k += 16) {
    if (k % 64 == 0) prefetch.step();
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
    lanes::F32x16 copy[R][T];  // a copy, so that the sums of the loop above can stay in registers
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) copy[r][t] = sums[r][t];
    }
    add_rest<W, R, T>(tile, copy);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) sums[r][t] = copy[r][t];
    }
  }
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) tile.out[t * tile.out_stride + r] = lanes::reduce_sum(sums[r][t]);
  }
}

#if HWY_TARGET == HWY_AVX2
inline constexpr int kRows = 2;
inline constexpr int kTokens = 2;
#elif HWY_TARGET == HWY_NEON
inline constexpr int kRows = 2;
inline constexpr int kTokens = 3;
#else
inline constexpr int kRows = 4;
inline constexpr int kTokens = 6;
#endif

/// R rows x the `tokens` <= kTokens tokens of a tile.
template <typename W, int R, int T = kTokens>
void multiply_tokens(const Tile& tile, int64_t tokens, Prefetch& prefetch) {
  if constexpr (T > 1) {
    if (tokens < T) return multiply_tokens<W, R, T - 1>(tile, tokens, prefetch);
  }
  multiply_tile<W, R, T>(tile, prefetch);
}

template <typename W>
void multiply_rows(Tile tile, int64_t rows, int64_t tokens, Prefetch& prefetch) {
  for (int64_t row = 0; row < rows;) {
    const int64_t step = rows - row >= kRows ? kRows : 1;
    if (step == kRows) {
      multiply_tokens<W, kRows>(tile, tokens, prefetch);
    } else {
      multiply_tokens<W, 1>(tile, tokens, prefetch);
    }
    row += step;
    tile.w += static_cast<size_t>(step) * tile.w_stride;
    tile.out += step;
  }
}

/// Bytes of weights that stay in the second-level cache while all tokens pass.
constexpr size_t kBlockBytes = 256 << 10;
/// How far ahead of a single tile of tokens the bytes of the weights are fetched.
constexpr size_t kAheadBytes = 32 << 10;

template <typename W>
void run_type(const MatmulInput& input, const MatmulJob& job) {
  const WeightMatrix& w = job.task->weight;
  const int64_t fitting = static_cast<int64_t>(kBlockBytes / std::max<size_t>(1, w.row_stride_bytes));
  const int64_t block = std::clamp<int64_t>(fitting / kRows * kRows, kRows, 64);
  const auto* bytes = reinterpret_cast<const uint8_t*>(w.data);
  const uint8_t* end = bytes + static_cast<size_t>(job.first_row + job.rows) * w.row_stride_bytes;
  Prefetch prefetch;
  if (input.tokens <= kTokens) {
    const uint8_t* begin = bytes + static_cast<size_t>(job.first_row) * w.row_stride_bytes;
    // multiply_tile() takes a step for each 64 columns of kRows rows.
    const int64_t steps = (job.rows + kRows - 1) / kRows * ((input.cols + 63) / 64);
    prefetch = Prefetch::panel(begin + std::min(kAheadBytes, static_cast<size_t>(end - begin)), end, steps);
  }
  for (int64_t row = job.first_row; row < job.first_row + job.rows; row += block) {
    const int64_t rows = std::min(block, job.first_row + job.rows - row);
    for (int64_t t = 0; t < input.tokens; t += kTokens) {
      const Tile tile = {.w = w.data + static_cast<size_t>(row) * w.row_stride_bytes,
                         .w_stride = w.row_stride_bytes,
                         .x = input.x + t * input.stride,
                         .x_stride = input.stride,
                         .out = job.task->out + t * job.task->out_stride + row,
                         .out_stride = job.task->out_stride,
                         .cols = input.cols};
      multiply_rows<W>(tile, rows, std::min<int64_t>(kTokens, input.tokens - t), prefetch);
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
