// Scores of queries with stored keys in integer arithmetic (docs/kv-codecs.md):
//   acc = 0; for each group: acc = fma(scale * step, float(sum of factor * code), acc)
//                            acc = fma(bias, step * float(sum of factors), acc)
// Sixteen keys lie in the sixteen lanes, so no sum is ever taken across lanes; up to four queries share each
// vector of codes.
#if defined(KVERN_STATE_CODEC_INTEGER_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_STATE_CODEC_INTEGER_SCORES_INL_H_
#undef KVERN_STATE_CODEC_INTEGER_SCORES_INL_H_
#else
#define KVERN_STATE_CODEC_INTEGER_SCORES_INL_H_
#endif

#include "hwy/highway.h"

#include "state/codec/integer/piece-inl.h"

KVERN_BEFORE_INTEGER();
namespace kvern::state {
namespace HWY_NAMESPACE {
namespace integer {

/// A prepared query: the factors of its dimensions, then a step and a sum (step * float(sum of factors)) for
/// each group.
struct QueryView {
  const std::byte* factors;
  const float* steps;
  const float* sums;
};

struct QueryForm {
  explicit QueryForm(const VectorShape& shape) : dim(shape.dim), groups(shape.groups()) {}
  int64_t dim;
  int64_t groups;

  size_t bytes() const { return (static_cast<size_t>(factor_bytes(dim) + 8 * groups) + 63) / 64 * 64; }
  QueryView view(const std::byte* query) const {
    const auto* numbers = reinterpret_cast<const float*>(query + factor_bytes(dim));
    return {query, numbers, numbers + groups};
  }
};

inline size_t query_bytes(const VectorShape& shape) { return QueryForm(shape).bytes(); }

template <typename F>
void prepare(const PrepareTask& task) {
  const QueryForm form(task.shape);
  for (int64_t q = 0; q < task.count; ++q) {
    std::byte* to = task.to + static_cast<size_t>(q) * form.bytes();
    auto* steps = reinterpret_cast<float*>(to + factor_bytes(form.dim));
    for (int64_t g = 0; g < form.groups; ++g) {
      const float* from = task.from + q * padded(form.dim) + g * task.shape.group;
      IntVector largest = hn::Zero(IntTag());
      for (int64_t d = 0; d < task.shape.group; d += 16)
        largest = max_magnitude(largest, lanes::load(from + d));
      const int32_t bits = hn::GetLane(hn::MaxOfLanes(IntTag(), largest));
      const FactorScales<1> scale(&bits, F::kQueryLimit);
      IntVector sum = hn::Zero(IntTag());
      for (int64_t d = 0; d < task.shape.group; d += 16) {
        const I32x16 factors = to_factors(lanes::load(from + d), scale.factor[0]);
        for (int j = 0; j < kParts; ++j) sum = hn::Add(sum, factors.part[j]);
        store_factors(factors, to, form.dim, g * task.shape.group + d);
      }
      steps[g] = scale.step[0];
      steps[form.groups + g] = scale.step[0] * static_cast<float>(hn::GetLane(hn::SumOfLanes(IntTag(), sum)));
    }
  }
}

// Factors in the order in which forms with pairs give their numbers: of each eight, the even ones first.
HWY_INLINE void reorder_factors(const std::byte* from, int64_t bytes, std::byte* to) {
  const hn::CappedTag<uint8_t, 64> d;
#if HWY_TARGET == HWY_AVX3_DL
  alignas(16) static constexpr uint8_t kOrder[16] = {0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};
#else
  alignas(16) static constexpr uint8_t kOrder[16] = {0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15};
#endif
  const auto order = hn::LoadDup128(d, kOrder);
  for (int64_t i = 0; i < bytes; i += static_cast<int64_t>(hn::MaxLanes(d))) {
    const auto v = hn::LoadU(d, reinterpret_cast<const uint8_t*>(from + i));
    hn::StoreU(hn::TableLookupBytes(v, order), d, reinterpret_cast<uint8_t*>(to + i));
  }
}

/// kRows queries: their factors in the form's order and their numbers.
template <typename F, int kRows>
struct QueryRows {
  QueryView views[kRows];
  alignas(64) std::byte reordered[F::kPairs ? kRows * factor_bytes(state::integer::kMaxDim) : 1];

  QueryRows(const QueryForm& form, const std::byte* queries) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      views[r] = form.view(queries + static_cast<size_t>(r) * form.bytes());
      if constexpr (F::kPairs) {
        std::byte* to = reordered + r * factor_bytes(form.dim);
        reorder_factors(views[r].factors, factor_bytes(form.dim), to);
        views[r].factors = to;
      }
    }
  }
};

template <typename F, int kRows>
HWY_INLINE void add_key_units(const Records& records, int64_t number, int64_t count,
                              const FactorRow (&factors)[kRows], typename F::KeyDot (&dots)[kRows],
                              FetchAhead& meanwhile) {
  for (int64_t unit = 0; unit < count / kUnit; ++unit) {
    meanwhile.step();
    I32x16 rows[8];
    F::key_rows(records, number + unit * kUnit, rows);
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      const Codes codes = expand(rows[j]);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) add_products(dots[r], codes, factors[r], unit * 8 + j);
    }
  }
}

/// Where the scores of a block of keys go.
struct ScorePlace {
  float* scores;
  int64_t stride;
  int64_t count;  ///< keys of the block
};

template <typename F, int kRows>
HWY_INLINE void score_block(const Piece<F>& piece, int64_t block, const QueryRows<F, kRows>& queries,
                            const VectorShape& shape, const ScorePlace& to, FetchAhead& meanwhile) {
  F32x16 acc[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) acc[r] = lanes::zero();
  for (int64_t g = 0; g < shape.groups(); ++g) {
    const int64_t number = g * shape.group;
    typename F::KeyDot dots[kRows];
    FactorRow factors[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      clear(dots[r]);
      factors[r] = factor_row(queries.views[r].factors, shape.dim, number);
    }
    if constexpr (F::kDirect) {
      add_key_units<F, kRows>(piece.codes(block), number, shape.group, factors, dots, meanwhile);
    } else {
      UnpackedBlock unpacked;
      const Records codes = unpacked.fill<F>(piece.codes(block), number, shape.group);
      add_key_units<BytesOf<F>, kRows>(codes, 0, shape.group, factors, dots, meanwhile);
    }
    const F32x16 scale = piece.scale(g, block);
    const F32x16 bias = piece.bias(g, block);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const F32x16 step = lanes::set(queries.views[r].steps[g]);
      acc[r] = lanes::fma(lanes::mul(scale, step), to_float(total(dots[r])), acc[r]);
      acc[r] = lanes::fma(bias, lanes::set(queries.views[r].sums[g]), acc[r]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    float* out = to.scores + r * to.stride;
    if (to.count == 16) {
      lanes::store(acc[r], out);
    } else {
      lanes::store_partial(acc[r], out, static_cast<size_t>(to.count));
    }
  }
}

template <typename F, int kRows>
HWY_NOINLINE void score_rows(const ScoreTask& task, int64_t q, const Piece<F>& piece, float* scores,
                             FetchAhead& meanwhile) {
  const QueryForm form(task.shape);
  const QueryRows<F, kRows> queries(form, task.queries + static_cast<size_t>(q) * form.bytes());
  float* out = scores + q * task.score_stride;
  for (int64_t block = 0; block < piece.blocks(); ++block) {
    const int64_t count = std::min<int64_t>(16, piece.count - 16 * block);
    score_block<F, kRows>(piece, block, queries, task.shape, {out + 16 * block, task.score_stride, count},
                          meanwhile);
  }
}

template <typename F>
void scores(const ScoreTask& task, EncodedRuns keys) {
  RunCursor cursor(keys);
  Piece<F> piece;
  piece.fill(cursor, task.shape);
  FetchAhead meanwhile;
  meanwhile.plan(task.next, F::record_bytes(task.shape),
                 std::max<int64_t>(piece.blocks(), 1) * task.shape.dim / kUnit);
  for (float* out = task.scores; piece.count > 0; piece.fill(cursor, task.shape)) {
    int64_t q = 0;
    for (; q + 4 <= task.count; q += 4) score_rows<F, 4>(task, q, piece, out, meanwhile);
    for (; q + 2 <= task.count; q += 2) score_rows<F, 2>(task, q, piece, out, meanwhile);
    if (q < task.count) score_rows<F, 1>(task, q, piece, out, meanwhile);
    out += piece.count;
  }
}

}  // namespace integer
}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
