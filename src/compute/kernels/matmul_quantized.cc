// Block-quantized products: how a job walks over row panels, pieces of columns and tiles of tokens. The inner
// kernels are in matmul_vnni-inl.h and matmul_int16-inl.h.
#include <cstring>

#include "compute/kernels/dispatch.h"
#include "compute/kernels/matmul_internal.h"
#include "compute/kernels/matmul_rows.h"
#include "compute/kernels/weights/formats.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/kernels/matmul_quantized.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

#include "compute/kernels/matmul_amx-inl.h"
#include "compute/kernels/matmul_int16-inl.h"
#include "compute/kernels/matmul_vnni-inl.h"
#include "compute/kernels/matmul_vnni_four-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::compute {
namespace HWY_NAMESPACE {
namespace matmul_detail {

using internal::distant_group;
using internal::kGroupRows;
using internal::kPanelRows;
using internal::MatmulJob;
using internal::QuantizedInput;
using internal::row_group;
using internal::staging_bytes;

/// Up to 32 rows: one or two groups.
struct Panel {
  RowGroup groups[2];
  int count = 0;
};

Panel make_panel(const WeightMatrix& matrix, int64_t first_row, std::byte* staging) {
  Panel panel;
  for (int64_t row = first_row; row < std::min(matrix.rows, first_row + kPanelRows); row += kGroupRows) {
    panel.groups[panel.count++] = row_group(matrix, row, staging);
  }
  return panel;
}

/// The bytes of the panel that follows `first_row`, spread over `steps` steps; nothing at the end of the job.
Prefetch prefetch_after(const MatmulJob& job, int64_t first_row, int64_t rows, int64_t steps) {
  const WeightMatrix& w = job.task->weight;
  const int64_t next = first_row + rows;
  const int64_t end = std::min(next + rows, job.first_row + job.rows);
  if (next >= end) return {};
  const auto* data = reinterpret_cast<const uint8_t*>(w.data);
  return Prefetch::panel(data + static_cast<size_t>(next) * w.row_stride_bytes,
                         data + static_cast<size_t>(end) * w.row_stride_bytes, steps);
}

/// Lanes [group.skip, group.end) of `lanes` become outputs of one token.
HWY_INLINE void store_group(const RowGroup& group, const float* lanes, float* token_out) {
  const int count = group.end - group.skip;
  if (count == kGroupRows) {
    // Of a known size it is a store or two, not a call.
    std::memcpy(token_out + group.first_row, lanes, kGroupRows * sizeof(float));
    return;
  }
  std::memcpy(token_out + group.first_row + group.skip, lanes + group.skip,
              static_cast<size_t>(count) * sizeof(float));
}

#if HWY_TARGET == HWY_AVX3_DL
/// The rows of a job with one token, but for at most three, as four long streams. Returns how many.
template <typename F>
int64_t run_four_streams(const QuantizedInput& input, const MatmulJob& job, Scratch& scratch) {
  const WeightMatrix& w = job.task->weight;
  const int64_t distance = job.rows / 4;
  const auto count = static_cast<size_t>(input.units / kFourInputUnits<F>);
  auto* const x = reinterpret_cast<FourInput<F>*>(scratch.get(count * sizeof(FourInput<F>)));
  make_four_input(input.data, input.units, x);
  const auto* rows =
      reinterpret_cast<const uint8_t*>(w.data) + static_cast<size_t>(job.first_row) * w.row_stride_bytes;
  const uint8_t* const end = rows + static_cast<size_t>(distance) * w.row_stride_bytes;
  const size_t stride = static_cast<size_t>(distance) * w.row_stride_bytes;
  for (int64_t i = 0; i < distance; ++i, rows += w.row_stride_bytes) {
    Prefetch prefetch = Prefetch::lanes(
        {.data = rows, .end = end, .stride = stride, .count = 4, .step_bytes = kFourStepBytes<F>});
    float out[4];
    four_rows<F>(rows, stride, std::span<const FourInput<F>>(x, count), out, prefetch);
    for (int64_t lane = 0; lane < 4; ++lane) job.task->out[job.first_row + i + lane * distance] = out[lane];
  }
  return 4 * distance;
}
#endif

/// The rows of a job with one token. Most are read as sixteen distant streams, which the processor's
/// prefetcher can follow (sixteen neighbouring rows end too soon for it). An odd distance keeps the streams
/// out of each other's cache sets.
template <typename F>
void run_sixteen_streams(const QuantizedInput& input, const MatmulJob& job, Scratch& scratch) {
  constexpr size_t kStepBytes = static_cast<size_t>(F::kBlockBytes * F::kStepUnits / F::kBlockUnits);
  HWY_ALIGN float out[kGroupRows];
  const WeightMatrix& w = job.task->weight;
  const int64_t distance = (job.rows / kGroupRows - 1) / 2 * 2 + 1;
  const int64_t distant_rows = job.rows < kGroupRows ? 0 : distance * kGroupRows;
  const uint8_t* const end = reinterpret_cast<const uint8_t*>(w.data) +
                             static_cast<size_t>(job.first_row + distance) * w.row_stride_bytes;
  for (int64_t i = 0; i < distant_rows / kGroupRows; ++i) {
    const RowGroup group = distant_group(w, job.first_row + i, distance);
    Prefetch prefetch = Prefetch::lanes({.data = group.data,
                                         .end = end,
                                         .stride = group.stride,
                                         .count = kGroupRows,
                                         .step_bytes = kStepBytes});
    one_token<F>(group, input.units, input.data, out, prefetch);
    for (int64_t lane = 0; lane < kGroupRows; ++lane)
      job.task->out[group.first_row + lane * distance] = out[lane];
  }
  std::byte* staging = scratch.get(staging_bytes(w));
  for (int64_t row = job.first_row + distant_rows; row < job.first_row + job.rows; row += kGroupRows) {
    const RowGroup group = row_group(w, row, staging);
    Prefetch none;
    one_token<F>(group, input.units, input.data, out, none);
    store_group(group, out, job.task->out);
  }
}

template <typename F>
void run_one_token(const QuantizedInput& input, MatmulJob job, Scratch& scratch) {
#if HWY_TARGET == HWY_AVX3_DL
  if constexpr (kReadsFourRows<F>) {
    if (input.units % kFourInputUnits<F> == 0) {
      const int64_t done = run_four_streams<F>(input, job, scratch);
      job.first_row += done;
      job.rows -= done;
    }
  }
#endif
  if (job.rows > 0) run_sixteen_streams<F>(input, job, scratch);
}

/// The panel kernels that every target has.
struct PanelEngine {
  using Tiles = PanelTiles;
  /// What a job holds while it multiplies panels of a format.
  template <typename F>
  struct Session {};

  template <typename F>
  static void pack_group(const RowGroup& rows, int64_t first, int64_t count, uint8_t* out,
                         Prefetch& prefetch) {
    pack<F>(rows, first, count, out, prefetch);
  }

  /// One piece of `groups` x 16 rows times a tile of `tokens` tokens: acc [groups][tokens][16].
  template <typename F>
  static void multiply(int groups, int64_t tokens, const uint8_t* panel, int64_t units, std::byte* x,
                       float* acc, Prefetch& prefetch) {
    if (groups == 2) {
      multiply_any<F, 2, PanelTiles::kTile>(tokens, panel, units, x, acc, prefetch);
    } else {
      multiply_any<F, 1, PanelTiles::kTile>(tokens, panel, units, x, acc, prefetch);
    }
  }

 private:
  template <typename F, int R, int T>
  static void multiply_any(int64_t tokens, const uint8_t* panel, int64_t units, std::byte* x, float* acc,
                           Prefetch& prefetch) {
    if constexpr (T > 1) {
      if (tokens < T) return multiply_any<F, R, T - 1>(tokens, panel, units, x, acc, prefetch);
    }
    multiply_tile<PanelShapeOf<F>, R, T>(panel, units, x, acc, prefetch);
  }
};

/// Panels that are multiplied together, so that a piece of the activations is read once for all of them.
struct PanelBatch {
  static constexpr int64_t kMax = 4;
  Panel panels[kMax];
  int64_t count = 0;
  float* sums = nullptr;     ///< [count][tile][group][token of the tile, with padding][16]
  uint8_t* piece = nullptr;  ///< packed codes of one panel
};

/// Sums of a panel.
template <typename Tiles>
int64_t panel_sums(const QuantizedInput& input) {
  return Tiles::padded(input.tokens) * kPanelRows;
}

/// Piece `piece` of panel `i`, all tiles.
template <typename F, typename Engine>
void multiply_piece(const QuantizedInput& input, PanelBatch& batch, int64_t i, int64_t piece,
                    Prefetch& prefetch) {
  using Tiles = typename Engine::Tiles;
  const Panel& panel = batch.panels[i];
  const int64_t first = piece * kPieceUnits;
  const int64_t units = std::min(kPieceUnits, input.units - first);
  for (int g = 0; g < panel.count; ++g) {
    Engine::template pack_group<F>(panel.groups[g], first, units,
                                   batch.piece + static_cast<size_t>(g * kPieceUnits) * kPanelUnitBytes<F>,
                                   prefetch);
  }
  float* sums = batch.sums + i * panel_sums<Tiles>(input);
  for (int64_t tile = 0; tile < Tiles::count(input.tokens); ++tile) {
    std::byte* x = input.data + Tiles::offset(input.tokens, input.units, piece, tile);
    Engine::template multiply<F>(panel.count, Tiles::size(input.tokens, tile), batch.piece, units, x,
                                 sums + tile * Tiles::kTile * kPanelRows, prefetch);
  }
}

/// Gets what a token's outputs of a panel overwrite into the cache.
HWY_INLINE void fetch_output(const Panel& panel, const float* token_out) {
  for (int g = 0; g < panel.count; ++g) __builtin_prefetch(token_out + panel.groups[g].first_row, 1, 3);
}

/// Token by token, whose outputs of all panels lie side by side.
template <typename Tiles>
void store_panels(const QuantizedInput& input, const MatmulTask& task, const PanelBatch& batch) {
  constexpr int64_t kAhead = 4;
  for (int64_t token = 0; token < input.tokens; ++token) {
    const int64_t tile = token / Tiles::kTile;
    const int64_t size = Tiles::size(input.tokens, tile);
    const float* const sums =
        batch.sums + tile * Tiles::kTile * kPanelRows + token % Tiles::kTile * kGroupRows;
    float* const out = task.out + token * task.out_stride;
    const float* const later = token + kAhead < input.tokens ? out + kAhead * task.out_stride : out;
    for (int64_t i = 0; i < batch.count; ++i) {
      const Panel& panel = batch.panels[i];
      const float* const acc = sums + i * panel_sums<Tiles>(input);
      fetch_output(panel, later);
      for (int g = 0; g < panel.count; ++g) store_group(panel.groups[g], acc + g * size * kGroupRows, out);
    }
  }
}

/// Prefetch steps of a panel of two groups.
template <typename F, typename Tiles>
int64_t panel_steps(const QuantizedInput& input) {
  return 2 * (input.units / kPrefetchUnits<F>)+input.units * Tiles::count(input.tokens);
}

template <typename F, typename Engine>
void run_panels(const QuantizedInput& input, const MatmulJob& job, Scratch& scratch) {
  using Tiles = typename Engine::Tiles;
  const WeightMatrix& w = job.task->weight;
  const int64_t end = job.first_row + job.rows;
  // Few tokens are bound by memory: one panel at a time, in the order of the bytes. Many reread the
  // activations.
  const int64_t together =
      std::clamp<int64_t>(input.tokens < 32 ? 1 : 2048 / input.tokens, 1, PanelBatch::kMax);
  const size_t sum_bytes = static_cast<size_t>(together * panel_sums<Tiles>(input)) * sizeof(float);
  const size_t piece_bytes = 2 * kPieceUnits * kPanelUnitBytes<F>;
  PanelBatch batch;
  std::byte* memory = scratch.get(piece_bytes + sum_bytes + staging_bytes(w));
  batch.piece = reinterpret_cast<uint8_t*>(memory);
  batch.sums = reinterpret_cast<float*>(memory + piece_bytes);
  std::byte* staging = memory + piece_bytes + sum_bytes;
  const int64_t pieces = (input.units + kPieceUnits - 1) / kPieceUnits;
  [[maybe_unused]] const typename Engine::template Session<F> session;
  for (int64_t row = job.first_row; row < end;) {
    for (batch.count = 0; batch.count < together && row < end; ++batch.count, row += kPanelRows) {
      batch.panels[batch.count] = make_panel(w, row, staging);
    }
    std::memset(batch.sums, 0, sum_bytes);
    Prefetch prefetch;
    if (together == 1)
      prefetch = prefetch_after(job, row - kPanelRows, kPanelRows, panel_steps<F, Tiles>(input));
    for (int64_t piece = 0; piece < pieces; ++piece) {
      for (int64_t i = 0; i < batch.count; ++i) multiply_piece<F, Engine>(input, batch, i, piece, prefetch);
    }
    store_panels<Tiles>(input, *job.task, batch);
  }
}

// ---- what the driver calls

size_t image_bytes(int64_t tokens, int64_t units) { return PanelTiles::image_bytes(tokens, units); }
int64_t image_parts(int64_t tokens) { return PanelTiles::count(tokens); }
void quantize(const MatmulInput& input, int64_t part, std::byte* image) {
  quantize_tile<PanelTiles>(input, part, image);
}

void run(const QuantizedInput& input, const MatmulJob& job, Scratch& scratch) {
  weights::visit_blocks(job.task->weight.type, [&](auto format) {
    using F = decltype(engine_format(format));
    if (input.tokens == 1) {
      run_one_token<F>(input, job, scratch);
    } else {
      run_panels<F, PanelEngine>(input, job, scratch);
    }
  });
}

#if HWY_TARGET == HWY_AVX3_DL
/// The same with AMX where there are tokens enough to fill its tiles.
namespace amx {

bool worth_it(int64_t tokens) { return tokens >= kLeastTokens; }

size_t image_bytes(int64_t tokens, int64_t units) {
  return worth_it(tokens) ? AmxEngine::Tiles::image_bytes(tokens, units)
                          : matmul_detail::image_bytes(tokens, units);
}
int64_t image_parts(int64_t tokens) {
  return worth_it(tokens) ? AmxEngine::Tiles::count(tokens) : matmul_detail::image_parts(tokens);
}
void quantize(const MatmulInput& input, int64_t part, std::byte* image) {
  if (!worth_it(input.tokens)) return matmul_detail::quantize(input, part, image);
  quantize_tile<AmxEngine::Tiles>(input, part, image);
}
void run(const QuantizedInput& input, const MatmulJob& job, Scratch& scratch) {
  if (!worth_it(input.tokens)) return matmul_detail::run(input, job, scratch);
  weights::visit_blocks(job.task->weight.type, [&](auto format) {
    run_panels<decltype(engine_format(format)), AmxEngine>(input, job, scratch);
  });
}

}  // namespace amx
#endif

}  // namespace matmul_detail
}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::compute::internal {
namespace {
constexpr auto kImageBytes = KVERN_TARGET_TABLE(matmul_detail::image_bytes);
constexpr auto kImageParts = KVERN_TARGET_TABLE(matmul_detail::image_parts);
constexpr auto kQuantize = KVERN_TARGET_TABLE(matmul_detail::quantize);
constexpr auto kRun = KVERN_TARGET_TABLE(matmul_detail::run);
}  // namespace

QuantizedMatmul quantized_matmul(CpuTarget target) {
#if defined(__x86_64__)
  if (target == CpuTarget::kAvx512Amx) {
    namespace amx = N_AVX3_DL::matmul_detail::amx;
    return {amx::image_bytes, amx::image_parts, amx::quantize, amx::run};
  }
#endif
  return {kImageBytes[target], kImageParts[target], kQuantize[target], kRun[target]};
}

}  // namespace kvern::compute::internal
#endif
