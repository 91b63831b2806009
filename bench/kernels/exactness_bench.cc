// What the fixed order of the matrix product costs: the product against kernels that may add in any order, on
// the same bytes, alternately in one process.
//
//   exactness_bench [--threads N] [--rounds N]
//
// The order-free kernels are written for AVX-512 with VNNI and do only what a benchmark needs (columns a
// multiple of 64, rows a multiple of 32, one matrix). For one token: rows one after another, partial sums
// wherever they fall, one horizontal sum for each row. For many: f16 as an outer product of a packed panel of
// 32 rows and broadcast activations (24 chains), q8_0 with partial sums along the columns.
#if defined(__x86_64__) && defined(__GNUC__)
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

#include <immintrin.h>

#include "compute/kernels/matmul.h"
#include "support/random_weights.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,f16c,fma")

namespace {

using namespace kvern::compute;

constexpr int64_t kUnit = 32;
constexpr size_t kQ8Bytes = 34;
constexpr size_t kAhead = 1024;

void fetch(const std::byte* p) { _mm_prefetch(reinterpret_cast<const char*>(p + kAhead), _MM_HINT_T1); }

// ---- f16, one token: four distant rows, two chains each

void free_f16_rows(const WeightMatrix& w, int64_t first, int64_t rows, const float* x, float* out) {
  const int64_t distance = rows / 4;
  for (int64_t i = 0; i < distance; ++i) {
    __m512 sums[4][2];
    for (auto& row : sums) row[0] = row[1] = _mm512_setzero_ps();
    const std::byte* p = w.data + static_cast<size_t>(first + i) * w.row_stride_bytes;
    for (int64_t k = 0; k < w.cols; k += 32, p += 64) {
      const __m512 x0 = _mm512_loadu_ps(x + k);
      const __m512 x1 = _mm512_loadu_ps(x + k + 16);
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
        const std::byte* q = p + static_cast<size_t>(r * distance) * w.row_stride_bytes;
        fetch(q);
        const __m512i halves = _mm512_loadu_si512(q);
        sums[r][0] = _mm512_fmadd_ps(_mm512_cvtph_ps(_mm512_castsi512_si256(halves)), x0, sums[r][0]);
        sums[r][1] = _mm512_fmadd_ps(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1)), x1, sums[r][1]);
      }
    }
    for (int r = 0; r < 4; ++r)
      out[first + i + r * distance] = _mm512_reduce_add_ps(_mm512_add_ps(sums[r][0], sums[r][1]));
  }
}

// ---- q8_0: activations [unit][32] int8 and a scale for each unit; dot products stay spread over the lanes

struct Quantized {
  std::vector<int8_t> codes;
  std::vector<float> scales;
  std::vector<int32_t> starts;  ///< [unit][8]: what the offset of 128 of the weights' codes adds, in lane 0
};

Quantized quantize(const std::vector<float>& x) {
  Quantized q{.codes = std::vector<int8_t>(x.size()), .scales = {}, .starts = {}};
  for (size_t begin = 0; begin < x.size(); begin += kUnit) {
    float largest = 1e-30f;
    for (size_t i = begin; i < begin + kUnit; ++i) largest = std::max(largest, std::fabs(x[i]));
    int32_t sum = 0;
    for (size_t i = begin; i < begin + kUnit; ++i) {
      q.codes[i] = static_cast<int8_t>(std::lrintf(x[i] * (127.0f / largest)));
      sum += q.codes[i];
    }
    q.scales.push_back(largest / 127.0f);
    q.starts.push_back(-128 * sum);
    q.starts.resize(q.starts.size() + 7);
  }
  return q;
}

float half_at(const std::byte* p) {
  uint16_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return _cvtsh_ss(bits);
}

/// Two units of one row: unsigned codes, and the scales of each in eight lanes.
struct TwoUnits {
  __m512i codes;
  __m512 scales;
};
TwoUnits load_two(const std::byte* p) {
  const auto* half = reinterpret_cast<const __m256i*>(p + 2);
  const auto* other = reinterpret_cast<const __m256i*>(p + kQ8Bytes + 2);
  const __m512i codes =
      _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(half)), _mm256_loadu_si256(other), 1);
  const __m512 scales =
      _mm512_mask_broadcastss_ps(_mm512_set1_ps(half_at(p)), 0xff00, _mm_set_ss(half_at(p + kQ8Bytes)));
  return {_mm512_xor_si512(codes, _mm512_set1_epi8(-128)), scales};
}
__m512 two_scales(const float* d) {
  return _mm512_mask_broadcastss_ps(_mm512_set1_ps(d[0]), 0xff00, _mm_load_ss(d + 1));
}

/// R distant rows times T tokens.
template <int R, int T>
void free_q8_tile(const std::byte* p, size_t stride, const Quantized& x, int64_t cols, int64_t token,
                  float* out, int64_t row_step, int64_t token_step) {
  __m512 sums[R][T];
  for (auto& row : sums) std::fill_n(row, T, _mm512_setzero_ps());
  const int64_t units = cols / kUnit;
  for (int64_t u = 0; u < units; u += 2, p += 2 * kQ8Bytes) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      if (T == 1) fetch(p + static_cast<size_t>(r) * stride);
      const TwoUnits w = load_two(p + static_cast<size_t>(r) * stride);
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) {
        const auto at = static_cast<size_t>((token + t) * units + u);
        const __m512i dots = _mm512_dpbusd_epi32(_mm512_loadu_si512(&x.starts[8 * at]), w.codes,
                                                 _mm512_loadu_si512(&x.codes[32 * at]));
        sums[r][t] = _mm512_fmadd_ps(_mm512_mul_ps(w.scales, two_scales(&x.scales[at])),
                                     _mm512_cvtepi32_ps(dots), sums[r][t]);
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int t = 0; t < T; ++t) out[r * row_step + t * token_step] = _mm512_reduce_add_ps(sums[r][t]);
  }
}

// ---- f16, many tokens: 32 rows packed as [column][32] f32, 12 tokens at a time

void pack_f16(const WeightMatrix& w, int64_t first, int64_t k0, int64_t count, float* panel) {
  for (int64_t r = 0; r < 32; ++r) {
    const std::byte* p = w.data + static_cast<size_t>(first + r) * w.row_stride_bytes;
    for (int64_t k = 0; k < count; k += 16) {
      alignas(64) float wide[16];
      _mm512_store_ps(wide, _mm512_cvtph_ps(_mm256_loadu_si256(
                                reinterpret_cast<const __m256i*>(p + static_cast<size_t>(k0 + k) * 2))));
      for (int64_t j = 0; j < 16; ++j) panel[(k + j) * 32 + r] = wide[j];
    }
  }
}

template <int T>
void free_f16_tile(const float* panel, const float* x, int64_t cols, int64_t count, float* out,
                   int64_t out_stride) {
  __m512 sums[T][2];
  for (int t = 0; t < T; ++t) {
    sums[t][0] = _mm512_loadu_ps(out + t * out_stride);
    sums[t][1] = _mm512_loadu_ps(out + t * out_stride + 16);
  }
  for (int64_t k = 0; k < count; ++k, panel += 32) {
    const __m512 a = _mm512_load_ps(panel);
    const __m512 b = _mm512_load_ps(panel + 16);
#pragma GCC unroll 12
    for (int t = 0; t < T; ++t) {
      const __m512 value = _mm512_set1_ps(x[t * cols + k]);
      sums[t][0] = _mm512_fmadd_ps(a, value, sums[t][0]);
      sums[t][1] = _mm512_fmadd_ps(b, value, sums[t][1]);
    }
  }
  for (int t = 0; t < T; ++t) {
    _mm512_storeu_ps(out + t * out_stride, sums[t][0]);
    _mm512_storeu_ps(out + t * out_stride + 16, sums[t][1]);
  }
}

#pragma GCC pop_options

// ---- the comparison

struct Options {
  int threads = 2;
  int rounds = 15;
};

struct Case {
  DType type;
  int64_t tokens;
};

/// The order-free product of one matrix, jobs of 32 rows (one token: 128) on the context's threads.
void free_product(Context& context, const WeightMatrix& w, const std::vector<float>& x, int64_t tokens,
                  std::vector<float>& out) {
  const int64_t job = tokens == 1 ? 128 : 32;
  const Quantized q = w.type == DType::kQ8_0 ? quantize(x) : Quantized{};
  std::fill(out.begin(), out.end(), 0.0f);
  context.pool().run(w.rows / job, [&](int64_t index, int thread) {
    const int64_t first = index * job;
    const std::byte* p = w.data + static_cast<size_t>(first) * w.row_stride_bytes;
    if (tokens == 1 && w.type == DType::kF16) return free_f16_rows(w, first, job, x.data(), out.data());
    if (tokens == 1) {
      const int64_t distance = job / 4;
      for (int64_t i = 0; i < distance; ++i, p += w.row_stride_bytes) {
        free_q8_tile<4, 1>(p, static_cast<size_t>(distance) * w.row_stride_bytes, q, w.cols, 0,
                           &out[static_cast<size_t>(first + i)], distance, w.rows);
      }
      return;
    }
    if (w.type == DType::kQ8_0) {
      for (int64_t t = 0; t < tokens; t += 4) {
        for (int64_t r = 0; r < job; r += 4) {
          free_q8_tile<4, 4>(p + static_cast<size_t>(r) * w.row_stride_bytes, w.row_stride_bytes, q, w.cols,
                             t, &out[static_cast<size_t>(t * w.rows + first + r)], 1, w.rows);
        }
      }
      return;
    }
    constexpr int64_t kColumns = 512;
    auto* panel = reinterpret_cast<float*>(context.thread_scratch(thread).get(kColumns * 32 * sizeof(float)));
    for (int64_t k = 0; k < w.cols; k += kColumns) {
      pack_f16(w, first, k, kColumns, panel);
      for (int64_t t = 0; t < tokens; t += 12) {
        free_f16_tile<12>(panel, x.data() + t * w.cols + k, w.cols, kColumns,
                          &out[static_cast<size_t>(t * w.rows + first)], w.rows);
      }
    }
  });
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void compare(Context& context, const Case& test, int rounds) {
  constexpr int64_t kRows = 8192;
  constexpr int64_t kCols = 2048;
  std::vector<kvern::testing::OwnedMatrix> copies;  // together larger than the last-level cache
  for (size_t bytes = 0; bytes < (96u << 20); bytes += row_bytes(test.type, kCols) * kRows) {
    copies.push_back(kvern::testing::random_matrix(
        {.type = test.type, .rows = kRows, .cols = kCols, .seed = copies.size()}));
  }
  const auto x = kvern::testing::random_activations(test.tokens * kCols, 3);
  std::vector<float> exact(static_cast<size_t>(test.tokens * kRows));
  std::vector<float> free(exact.size());
  std::vector<double> exact_seconds, free_seconds, ratios;
  const int batch = test.tokens == 1 ? 8 : 1;  // products in one timing
  size_t next = 0;
  for (int round = 0; round < rounds; ++round) {
    exact_seconds.push_back(seconds_of([&] {
      for (int i = 0; i < batch; ++i) {
        const MatmulTask task = {
            .weight = copies[next++ % copies.size()].view, .out = exact.data(), .out_stride = kRows};
        matmul(context, {.x = x.data(), .tokens = test.tokens, .cols = kCols, .stride = kCols}, {&task, 1});
      }
    }));
    free_seconds.push_back(seconds_of([&] {
      for (int i = 0; i < batch; ++i)
        free_product(context, copies[next++ % copies.size()].view, x, test.tokens, free);
    }));
    ratios.push_back(exact_seconds.back() / free_seconds.back());
  }
  // Both must have computed the same product, up to rounding.
  const auto& last = copies[(next - 1) % copies.size()].view;
  const MatmulTask task = {.weight = last, .out = exact.data(), .out_stride = kRows};
  matmul(context, {.x = x.data(), .tokens = test.tokens, .cols = kCols, .stride = kCols}, {&task, 1});
  double difference = 0.0, size = 0.0;
  for (size_t i = 0; i < exact.size(); ++i) {
    difference = std::max(difference, std::fabs(static_cast<double>(exact[i]) - free[i]));
    size = std::max(size, std::fabs(static_cast<double>(exact[i])));
  }
  std::printf(
      "%-5s %4lld tokens: exact %9.1f us, order-free %9.1f us, exact / free %.3f (largest difference %.1e)\n",
      std::string(traits(test.type).name).c_str(), static_cast<long long>(test.tokens),
      median(exact_seconds) / batch * 1e6, median(free_seconds) / batch * 1e6, median(ratios),
      difference / size);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]) == "--threads") options.threads = std::atoi(argv[i + 1]);
    if (std::string_view(argv[i]) == "--rounds") options.rounds = std::atoi(argv[i + 1]);
  }
  if (!is_supported(CpuTarget::kAvx512Vnni)) {
    std::fprintf(stderr, "this comparison needs AVX-512 with VNNI\n");
    return 2;
  }
  Context context(CpuTarget::kAvx512Vnni, options.threads);
  for (const Case& test :
       {Case{DType::kF16, 1}, Case{DType::kQ8_0, 1}, Case{DType::kF16, 516}, Case{DType::kQ8_0, 516}}) {
    compare(context, test, test.tokens == 1 ? options.rounds * 4 : options.rounds);
  }
  return 0;
}

#else
#include <cstdio>
int main() {
  std::fprintf(stderr, "this comparison needs AVX-512 with VNNI\n");
  return 2;
}
#endif
