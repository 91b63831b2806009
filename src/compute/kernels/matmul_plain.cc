// Products with f32, f16 and bf16 weights, used as they lie in the file, and with affine weights
// (matmul_affine-inl.h): sixteen partial sums by column mod 16 in the sixteen lanes, then the tree of
// lanes-inl.h. Each output has lanes of its own, so any register tile gives the same bits. The columns beyond
// the last multiple of 16 are filled up with zeros.
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
#include "compute/kernels/matmul_affine-inl.h"

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
  size_t w_stride;  ///< bytes between two rows of the tile
  const float* x;
  int64_t x_stride;
  float* out;
  int64_t out_stride;  ///< of tokens
  int64_t out_step;    ///< of rows
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

/// Columns [begin, end) of a tile, both multiples of 16 or the end of the matrix. Between the pieces of a
/// tile its sums wait in `carried` [R][T][16].
struct Columns {
  int64_t begin;
  int64_t end;
  float* carried;
};

/// R rows x T tokens; outputs are written with the last columns.
template <typename W, int R, int T>
HWY_NOINLINE void multiply_tile(const Tile& tile, const Columns& columns, Prefetch& prefetch) {
  lanes::F32x16 sums[R][T];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      sums[r][t] =
          columns.begin == 0 ? lanes::zero() : lanes::load(columns.carried + (r * T + t) * lanes::kLanes);
    }
  }
  const int64_t whole = std::min(columns.end, tile.cols / 16 * 16);
  for (int64_t k = columns.begin; k < whole; k += 16) {
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
  if (columns.end < tile.cols) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) {
        lanes::store(sums[r][t], columns.carried + (r * T + t) * lanes::kLanes);
      }
    }
    return;
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
    for (int r = 0; r < R; ++r)
      tile.out[t * tile.out_stride + r * tile.out_step] = lanes::reduce_sum(sums[r][t]);
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
void multiply_tokens(const Tile& tile, int64_t tokens, const Columns& columns, Prefetch& prefetch) {
  if constexpr (T > 1) {
    if (tokens < T) return multiply_tokens<W, R, T - 1>(tile, tokens, columns, prefetch);
  }
  multiply_tile<W, R, T>(tile, columns, prefetch);
}

/// Columns that all rows of a block take together: those of a tile's tokens stay in the first-level cache.
constexpr int64_t kPieceColumns = 1024;
/// Rows of a block at most, and the floats that its sums take.
constexpr int64_t kBlockRows = 64;
constexpr size_t kCarriedFloats = kBlockRows * kTokens * lanes::kLanes;

/// A block of rows x the `tokens` <= kTokens tokens of a tile, piece by piece of the columns; `carried` has
/// kCarriedFloats.
template <typename W>
void multiply_rows(const Tile& block, int64_t rows, int64_t tokens, float* carried) {
  Prefetch none;
  for (int64_t begin = 0; begin < block.cols; begin += kPieceColumns) {
    Tile tile = block;
    Columns columns{.begin = begin, .end = std::min(begin + kPieceColumns, block.cols), .carried = carried};
    for (int64_t row = 0; row < rows;) {
      const int64_t step = rows - row >= kRows ? kRows : 1;
      if (step == kRows) {
        multiply_tokens<W, kRows>(tile, tokens, columns, none);
      } else {
        multiply_tokens<W, 1>(tile, tokens, columns, none);
      }
      row += step;
      tile.w += static_cast<size_t>(step) * tile.w_stride;
      tile.out += step;
      columns.carried += step * tokens * lanes::kLanes;
    }
  }
}

/// The tile of neighbouring rows from `row` on and tokens from `token` on.
Tile tile_at(const MatmulInput& input, const MatmulTask& task, int64_t row, int64_t token) {
  const WeightMatrix& w = task.weight;
  return {.w = w.data + static_cast<size_t>(row) * w.row_stride_bytes,
          .w_stride = w.row_stride_bytes,
          .x = input.x + token * input.stride,
          .x_stride = input.stride,
          .out = task.out + token * task.out_stride + row,
          .out_stride = task.out_stride,
          .out_step = 1,
          .cols = input.cols};
}

/// A single tile of tokens: the weights are read once, as kRows long streams.
template <typename W>
void run_streams(const MatmulInput& input, const MatmulJob& job) {
  const size_t stride = job.task->weight.row_stride_bytes;
  const int64_t distance = job.rows / kRows;
  Tile tile = tile_at(input, *job.task, job.first_row, 0);
  const std::byte* const end = tile.w + static_cast<size_t>(distance) * stride;
  tile.w_stride = static_cast<size_t>(distance) * stride;
  tile.out_step = distance;
  for (int64_t i = 0; i < distance; ++i, tile.w += stride, ++tile.out) {
    // multiply_tile() takes a step for each 64 columns.
    Prefetch prefetch = Prefetch::lanes({.data = reinterpret_cast<const uint8_t*>(tile.w),
                                         .end = reinterpret_cast<const uint8_t*>(end),
                                         .stride = tile.w_stride,
                                         .count = kRows,
                                         .step_bytes = 64 * W::kBytes});
    multiply_tokens<W, kRows>(tile, input.tokens, {0, input.cols, nullptr}, prefetch);
  }
  for (int64_t row = distance * kRows; row < job.rows; ++row) {
    Prefetch none;
    multiply_tokens<W, 1>(tile_at(input, *job.task, job.first_row + row, 0), input.tokens,
                          {0, input.cols, nullptr}, none);
  }
}

/// Bytes of weights that stay in the second-level cache while all tokens pass.
constexpr size_t kBlockBytes = 256 << 10;

template <typename W>
void run_blocks(const MatmulInput& input, const MatmulJob& job, Scratch& scratch) {
  auto* const carried = reinterpret_cast<float*>(scratch.get(kCarriedFloats * sizeof(float)));
  const size_t stride = job.task->weight.row_stride_bytes;
  const auto fitting = static_cast<int64_t>(kBlockBytes / std::max<size_t>(1, stride));
  const int64_t block = std::clamp<int64_t>(fitting / kRows * kRows, kRows, kBlockRows);
  for (int64_t row = job.first_row; row < job.first_row + job.rows; row += block) {
    const int64_t rows = std::min(block, job.first_row + job.rows - row);
    for (int64_t t = 0; t < input.tokens; t += kTokens) {
      multiply_rows<W>(tile_at(input, *job.task, row, t), rows, std::min<int64_t>(kTokens, input.tokens - t),
                       carried);
    }
  }
}

template <typename W>
void run_type(const MatmulInput& input, const MatmulJob& job, Scratch& scratch) {
  if (input.tokens <= kTokens) {
    run_streams<W>(input, job);
  } else {
    run_blocks<W>(input, job, scratch);
  }
}

/// Affine weights and one token: kRows long streams of codes.
template <int kBits>
void run_affine_streams(const MatmulInput& input, const MatmulJob& job) {
  const WeightMatrix& w = job.task->weight;
  const int64_t distance = job.rows / kRows;
  float* const out = job.task->out + job.first_row;
  for (int64_t i = 0; i < distance; ++i) {
    weights::RowSource rows[kRows];
    for (int r = 0; r < kRows; ++r) rows[r] = weights::row_source(w, job.first_row + i + r * distance);
    // A step is a group of columns.
    Prefetch prefetch =
        Prefetch::lanes({.data = rows[0].data,
                         .end = rows[0].data + static_cast<size_t>(distance - i) * w.row_stride_bytes,
                         .stride = static_cast<size_t>(distance) * w.row_stride_bytes,
                         .count = kRows,
                         .step_bytes = static_cast<size_t>(w.affine.group_size * kBits / 8)});
    float sums[kRows];
    matmul_affine_detail::multiply_rows<kBits, kRows>(rows, input.x, input.cols, prefetch, sums);
    for (int r = 0; r < kRows; ++r) out[i + r * distance] = sums[r];
  }
  for (int64_t row = distance * kRows; row < job.rows; ++row) {
    Prefetch none;
    const weights::RowSource source = weights::row_source(w, job.first_row + row);
    matmul_affine_detail::multiply_rows<kBits, 1>(&source, input.x, input.cols, none, out + row);
  }
}

/// Affine weights and several tokens: a block of rows is decoded once for all of them.
template <int kBits>
void run_affine_blocks(const MatmulInput& input, const MatmulJob& job, Scratch& scratch) {
  const size_t row_floats = static_cast<size_t>(input.cols);
  const auto block =
      std::clamp<int64_t>(static_cast<int64_t>(kBlockBytes / (4 * row_floats)), kRows, kBlockRows);
  const size_t floats = kCarriedFloats + static_cast<size_t>(block) * row_floats;
  auto* const carried = reinterpret_cast<float*>(scratch.get(floats * sizeof(float)));
  float* const decoded = carried + kCarriedFloats;
  for (int64_t row = 0; row < job.rows; row += block) {
    const int64_t rows = std::min(block, job.rows - row);
    for (int64_t r = 0; r < rows; ++r) {
      matmul_affine_detail::decode<kBits>(weights::row_source(job.task->weight, job.first_row + row + r),
                                          input.cols, decoded + static_cast<size_t>(r) * row_floats);
    }
    for (int64_t t = 0; t < input.tokens; t += kTokens) {
      Tile tile = tile_at(input, *job.task, job.first_row + row, t);
      tile.w = reinterpret_cast<const std::byte*>(decoded);
      tile.w_stride = row_floats * sizeof(float);
      multiply_rows<F32Weights>(tile, rows, std::min<int64_t>(kTokens, input.tokens - t), carried);
    }
  }
}

template <int kBits>
void run_affine(const MatmulInput& input, const MatmulJob& job, Scratch& scratch) {
  if (input.tokens == 1) {
    run_affine_streams<kBits>(input, job);
  } else {
    run_affine_blocks<kBits>(input, job, scratch);
  }
}

void run(const MatmulInput& input, const MatmulJob& job, Scratch& scratch) {
  switch (job.task->weight.type) {
    case DType::kAffine4:
      return run_affine<4>(input, job, scratch);
    case DType::kAffine8:
      return run_affine<8>(input, job, scratch);
    case DType::kF16:
      return run_type<F16Weights>(input, job, scratch);
    case DType::kBF16:
      return run_type<BF16Weights>(input, job, scratch);
    default:
      return run_type<F32Weights>(input, job, scratch);
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
