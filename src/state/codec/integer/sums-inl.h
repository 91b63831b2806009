// Weighted sums of stored values in integer arithmetic (docs/kv-codecs.md), one piece of up to kTile vectors:
// per query and group, weight * scale becomes integer factors with a common step, and
//   sums[d] = fma(step, float(sum of factor * code[d]), sums[d] + sum of weight * bias)
// Four positions of a dimension lie in one dword; up to four queries share each vector of codes.
#if defined(KVERN_STATE_CODEC_INTEGER_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_STATE_CODEC_INTEGER_SUMS_INL_H_
#undef KVERN_STATE_CODEC_INTEGER_SUMS_INL_H_
#else
#define KVERN_STATE_CODEC_INTEGER_SUMS_INL_H_
#endif

#include "hwy/highway.h"

#include "state/codec/integer/piece-inl.h"

KVERN_BEFORE_INTEGER();
namespace kvern::state {
namespace HWY_NAMESPACE {
namespace integer {

/// The weights of kRows queries, zero up to kTile.
template <int kRows>
struct WeightRows {
  alignas(64) float weights[kRows * kTile];

  WeightRows(const AccumulateTask& task, int64_t q, int64_t count) {
    for (int r = 0; r < kRows; ++r) {
      const float* from = task.weights + (q + r) * task.weight_stride;
      float* to = weights + r * kTile;
      int64_t i = 0;
      for (; i + 16 <= count; i += 16) lanes::store(lanes::load(from + i), to + i);
      if (i < count) lanes::store(lanes::load_partial(from + i, static_cast<size_t>(count - i)), to + i);
      for (i = (count + 15) / 16 * 16; i < kTile; i += 16) lanes::store(lanes::zero(), to + i);
    }
  }
};

/// What one group of values needs of the weights of kRows queries. Weights and parameters are zero beyond the
/// piece, and so are their factors.
template <int kRows>
struct GroupFactors {
  alignas(64) std::byte factors[kRows * factor_bytes(kTile)];
  float step[kRows];
  float bias[kRows];

  template <typename F>
  HWY_INLINE void fill(const Piece<F>& piece, int64_t group, const WeightRows<kRows>& rows) {
    F32x16 sums[kRows];
    IntVector largest[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      sums[r] = lanes::zero();
      largest[r] = hn::Zero(IntTag());
    }
    F32x16 scales[kBlocks];
#pragma GCC unroll 4
    for (int b = 0; b < kBlocks; ++b) {
      scales[b] = piece.scale(group, b);
      const F32x16 biases = piece.bias(group, b);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const F32x16 weight = lanes::load(rows.weights + r * kTile + 16 * b);
        sums[r] = lanes::fma(weight, biases, sums[r]);
        largest[r] = max_magnitude(largest[r], lanes::mul(weight, scales[b]));
      }
    }
    alignas(16) int32_t bits[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      bias[r] = lanes::reduce_sum(sums[r]);
      bits[r] = hn::GetLane(hn::MaxOfLanes(IntTag(), largest[r]));
    }
    const FactorScales<kRows> scale(bits, F::kWeightLimit);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      step[r] = scale.step[r];
      I32x16 integers[kBlocks];
#pragma GCC unroll 4
      for (int b = 0; b < kBlocks; ++b) {
        const F32x16 product = lanes::mul(lanes::load(rows.weights + r * kTile + 16 * b), scales[b]);
        integers[b] = to_factors(product, scale.factor[r]);
      }
      store_tile_factors(integers, factors + r * factor_bytes(kTile));
    }
  }
};

/// The factors of four values, of one byte or two.
template <typename F>
HWY_INLINE auto load_weights(const FactorRow& row, int64_t step) {
  if constexpr (F::kNarrowWeights) {
    return load_narrow_factors(row, step);
  } else {
    return load_factors(row, step);
  }
}

/// The codes of the blocks of a piece.
struct BlockCodes {
  Records records[kBlocks];
  int64_t blocks;
};

/// Sums of one unit of dimensions over all values: two vectors of 16 for each of kRows queries.
template <typename F, int kRows>
HWY_INLINE void unit_dots(const BlockCodes& codes, int64_t number, const GroupFactors<kRows>& weights,
                          typename F::ValueDot (&dots)[kRows][2], FetchAhead& meanwhile) {
  FactorRow factors[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    factors[r] = factor_row(weights.factors + r * factor_bytes(kTile), kTile, 0);
  }
  for (int64_t b = 0; b < codes.blocks; ++b) {
    meanwhile.step();
#pragma GCC unroll 4
    for (int64_t i = 0; i < 4; ++i) {
      I32x16 vectors[2];
      F::value_vectors(codes.records[b].from(4 * i), number, vectors);
      const Codes expanded[2] = {expand(vectors[0]), expand(vectors[1])};
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const auto f = load_weights<F>(factors[r], 4 * b + i);
        add_products(dots[r][0], expanded[0], f);
        add_products(dots[r][1], expanded[1], f);
      }
    }
  }
}

// The 32 sums of a unit in the order of dimensions.
template <typename F>
HWY_INLINE void in_order(const typename F::ValueDot (&dots)[2], F32x16 (&out)[2]) {
  const F32x16 a = to_float(total(dots[0]));
  const F32x16 b = to_float(total(dots[1]));
  if constexpr (!F::kPairs) {
    out[0] = a;
    out[1] = b;
  } else {
    alignas(64) float ordered[kUnit];
#pragma GCC unroll 4
    for (int i = 0; i < kParts; ++i) {
      hn::StoreInterleaved2(a.part[i], b.part[i], lanes::Tag(), ordered + 2 * i * kWidth);
    }
    out[0] = lanes::load(ordered);
    out[1] = lanes::load(ordered + 16);
  }
}

template <typename F, int kRows>
HWY_INLINE void add_unit(const BlockCodes& codes, int64_t number, const GroupFactors<kRows>& weights,
                         float* sums, int64_t stride, FetchAhead& meanwhile) {
  typename F::ValueDot dots[kRows][2];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    clear(dots[r][0]);
    clear(dots[r][1]);
  }
  unit_dots<F, kRows>(codes, number, weights, dots, meanwhile);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    F32x16 products[2];
    in_order<F>(dots[r], products);
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      float* out = sums + r * stride + 16 * i;
      const F32x16 biased = lanes::add(lanes::load(out), lanes::set(weights.bias[r]));
      lanes::store(lanes::fma(lanes::set(weights.step[r]), products[i], biased), out);
    }
  }
}

template <typename F, int kRows>
HWY_NOINLINE void sum_rows(const AccumulateTask& task, int64_t q, const Piece<F>& piece,
                           FetchAhead& meanwhile) {
  const WeightRows<kRows> rows(task, q, piece.count);
  const int64_t stride = padded(task.shape.dim);
  for (int64_t g = 0; g < task.shape.groups(); ++g) {
    GroupFactors<kRows> weights;
    weights.fill(piece, g, rows);
    const int64_t number = g * task.shape.group;
    UnpackedBlock unpacked[F::kDirect ? 1 : kBlocks];
    BlockCodes codes{.records = {}, .blocks = piece.blocks()};
    for (int64_t b = 0; b < codes.blocks; ++b) {
      codes.records[b] = piece.codes(b);
      if constexpr (!F::kDirect) {
        codes.records[b] = unpacked[b].template fill<F>(codes.records[b], number, task.shape.group);
      }
    }
    for (int64_t u = 0; u < task.shape.group / kUnit; ++u) {
      float* sums = task.sums + q * stride + number + u * kUnit;
      if constexpr (F::kDirect) {
        add_unit<F, kRows>(codes, number + u * kUnit, weights, sums, stride, meanwhile);
      } else {
        add_unit<BytesOf<F>, kRows>(codes, u * kUnit, weights, sums, stride, meanwhile);
      }
    }
  }
}

template <typename F>
void accumulate(const AccumulateTask& task, EncodedRuns values) {
  RunCursor cursor(values);
  Piece<F> piece;
  piece.fill(cursor, task.shape);
  if (piece.count == 0) return;
  FetchAhead meanwhile;
  meanwhile.plan(task.next, F::record_bytes(task.shape), piece.blocks() * task.shape.dim / kUnit);
  int64_t q = 0;
  for (; q + 4 <= task.count; q += 4) sum_rows<F, 4>(task, q, piece, meanwhile);
  for (; q + 2 <= task.count; q += 2) sum_rows<F, 2>(task, q, piece, meanwhile);
  if (q < task.count) sum_rows<F, 1>(task, q, piece, meanwhile);
}

}  // namespace integer
}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
