// Attention over a stored context, through the KV cache: decode (one token a row) and prefill (a chunk at the
// end).
//
//   attention_bench --benchmark_filter=decode
//
// Geometry of llama-3.2-1B: 32 query heads, 8 key/value heads of 64, 16 layers, all of them stored, so that
// nothing stays in a cache from one step to the next. Counters: us_per_token is the time of all layers for
// each cached token; bytes_per_second counts the encoded keys and values once; GFLOPS counts 4 * head size
// for each query and position.
#include <random>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "state/sequence/kv_cache.h"

namespace kvern::state {
namespace {

constexpr int64_t kLayers = 16;
constexpr int64_t kHeads = 32;
constexpr int64_t kKvHeads = 8;
constexpr int64_t kDim = 64;

std::vector<float> random_floats(int64_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

/// A cache with `rows` rows of `length` tokens.
struct Filled {
  Filled(CodecKind codec, int64_t length, int64_t count, compute::Context& context)
      : cache(*KvCache::create({std::vector<KvLayerSpec>(kLayers, {kKvHeads, kDim, kDim})},
                               {.types = {{.kind = codec}, {.kind = codec}}})) {
    const int64_t chunk = std::min<int64_t>(length, 512);
    const std::vector<float> kv = random_floats(chunk * kKvHeads * kDim);
    for (int64_t i = 0; i < count; ++i) rows.push_back(cache->add_row());
    for (const RowId row : rows) {
      for (int64_t done = 0; done < length; done += chunk) {
        const RowAppend append{row, std::min(chunk, length - done)};
        Step step = *cache->begin({&append, 1});
        for (int32_t layer = 0; layer < kLayers; ++layer) {
          cache->append(context, LayerIndex{layer}, step, {kv.data(), kv.data()});
        }
        cache->commit(std::move(step));
      }
    }
  }
  std::unique_ptr<KvCache> cache;
  std::vector<RowId> rows;
};

// Each row brings `tokens` tokens at the end of `context_tokens`; the step is rolled back.
void run(benchmark::State& state, CodecKind codec, int64_t tokens) {
  const int64_t context_tokens = state.range(0);
  const int64_t rows = state.range(1);
  compute::Context context(*compute::best_target(), static_cast<int>(state.range(2)));
  // The step ends at the context, inside a chunk: allocating the next one would be measured otherwise.
  Filled filled(codec, context_tokens - tokens, rows, context);
  const int64_t all = rows * tokens;
  const std::vector<float> q = random_floats(all * kHeads * kDim);
  std::vector<float> out(q.size());
  std::vector<RowAppend> appends;
  for (const RowId row : filled.rows) appends.push_back({row, tokens});
  for (auto _ : state) {
    Step step = *filled.cache->begin(appends);
    for (int32_t layer = 0; layer < kLayers; ++layer) {
      filled.cache->append(context, LayerIndex{layer}, step, {q.data(), q.data()});
      filled.cache->attend(context, LayerIndex{layer}, step, {q.data(), out.data(), kHeads, 0.125F});
    }
    filled.cache->rollback(std::move(step));
  }
  const auto steps = static_cast<double>(state.iterations());
  const auto positions = static_cast<double>(rows * context_tokens);
  const double bytes = positions * static_cast<double>(filled.cache->bytes_per_token());
  const double pairs = static_cast<double>(rows * tokens) *
                       (static_cast<double>(context_tokens) - 0.5 * static_cast<double>(tokens));
  state.counters["us_per_token"] =
      benchmark::Counter(steps * positions * 1e-6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["GBps"] = benchmark::Counter(steps * bytes * 1e-9, benchmark::Counter::kIsRate);
  state.counters["GFLOPS"] =
      benchmark::Counter(steps * pairs * 4.0 * kDim * kHeads * kLayers * 1e-9, benchmark::Counter::kIsRate);
}

void decode_f16(benchmark::State& state) { run(state, CodecKind::kF16, 1); }
void decode_bf16(benchmark::State& state) { run(state, CodecKind::kBF16, 1); }
void decode_f32(benchmark::State& state) { run(state, CodecKind::kF32, 1); }
void prefill_f16(benchmark::State& state) { run(state, CodecKind::kF16, 512); }

// context, rows, threads
void decode_shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"context", "rows", "threads"})->Unit(benchmark::kMillisecond)->UseRealTime();
  b->Args({8192, 1, 1})->Args({8192, 1, 2})->Args({2048, 1, 2})->Args({512, 8, 2});
}
void prefill_shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"context", "rows", "threads"})->Unit(benchmark::kMillisecond)->UseRealTime();
  b->Args({1024, 1, 2})->Args({2048, 1, 1})->Args({2048, 1, 2})->Args({8192, 1, 2});
}

BENCHMARK(decode_f16)->Apply(decode_shapes);
BENCHMARK(decode_bf16)->Args({8192, 1, 2})->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(decode_f32)->Args({8192, 1, 2})->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(prefill_f16)->Apply(prefill_shapes);

}  // namespace
}  // namespace kvern::state

BENCHMARK_MAIN();
