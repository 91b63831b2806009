// Kernels on rows and elements: time and bandwidth. A step calls them on one token (decode) or some hundreds
// (prefill).
//
//   vector_bench --benchmark_filter=rms_norm
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "compute/kernels/activation.h"
#include "compute/kernels/elementwise.h"
#include "compute/kernels/norm.h"
#include "compute/kernels/rope.h"
#include "compute/kernels/softmax.h"

namespace kvern::compute {
namespace {

constexpr int64_t kWidth = 2048;  // hidden size of a 1B model
constexpr int64_t kInner = 8192;  // of its feed-forward blocks
constexpr int64_t kHeads = 32;
constexpr int64_t kHeadDim = 64;

std::vector<float> random_floats(int64_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

void set_bytes(benchmark::State& state, int64_t floats) {
  state.SetBytesProcessed(state.iterations() * floats * static_cast<int64_t>(sizeof(float)));
}

void rms_norm_bench(benchmark::State& state) {
  Context context(*best_target(), 2);
  const int64_t tokens = state.range(0);
  const auto x = random_floats(tokens * kWidth);
  const auto weight = random_floats(kWidth);
  std::vector<float> out(x.size());
  for (auto _ : state) {
    rms_norm(context, {.x = x.data(), .out = out.data(), .tokens = tokens, .n = kWidth},
             {.weight = weight.data()});
  }
  set_bytes(state, 2 * tokens * kWidth);
}

void silu_mul_bench(benchmark::State& state) {
  Context context(*best_target(), 2);
  const int64_t tokens = state.range(0);
  const auto gate = random_floats(tokens * kInner);
  const auto up = random_floats(tokens * kInner);
  std::vector<float> out(gate.size());
  for (auto _ : state) {
    glu(context, Activation::kSilu,
        {.gate = gate.data(), .up = up.data(), .out = out.data(), .tokens = tokens, .n = kInner});
  }
  set_bytes(state, 3 * tokens * kInner);
}

void add_bench(benchmark::State& state) {
  Context context(*best_target(), 2);
  const auto x = random_floats(state.range(0) * kWidth);
  auto out = x;
  for (auto _ : state) add(context, out, x, out);
  set_bytes(state, 3 * state.range(0) * kWidth);
}

void rope_bench(benchmark::State& state) {
  Context context(*best_target(), 2);
  const int64_t tokens = state.range(0);
  const RopeTable table = *RopeTable::create(
      {.pairing = state.range(1) == 0 ? RopePairing::kHalfSplit : RopePairing::kInterleaved,
       .rotary_dims = kHeadDim});
  std::vector<int64_t> positions(static_cast<size_t>(tokens));
  for (int64_t t = 0; t < tokens; ++t) positions[static_cast<size_t>(t)] = t;
  RopeAngles angles;
  angles.prepare(table, positions);
  auto x = random_floats(tokens * kHeads * kHeadDim);
  for (auto _ : state) rope(context, angles, {.x = x.data(), .heads = kHeads, .head_dim = kHeadDim});
  set_bytes(state, 2 * tokens * kHeads * kHeadDim);
}

void rope_angles_bench(benchmark::State& state) {
  const RopeTable table = *RopeTable::create({.rotary_dims = kHeadDim});
  std::vector<int64_t> positions(static_cast<size_t>(state.range(0)), 4000);
  RopeAngles angles;
  for (auto _ : state) angles.prepare(table, positions);
}

void log_sum_exp_bench(benchmark::State& state) {
  Context context(*best_target(), 1);
  const auto x = random_floats(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(log_sum_exp(context, x));
  set_bytes(state, state.range(0));
}

void argmax_bench(benchmark::State& state) {
  Context context(*best_target(), 1);
  const auto x = random_floats(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(argmax(context, x));
  set_bytes(state, state.range(0));
}

BENCHMARK(rms_norm_bench)->ArgName("tokens")->Arg(1)->Arg(512)->UseRealTime();
BENCHMARK(silu_mul_bench)->ArgName("tokens")->Arg(1)->Arg(512)->UseRealTime();
BENCHMARK(add_bench)->ArgName("tokens")->Arg(1)->Arg(512)->UseRealTime();
BENCHMARK(rope_bench)
    ->ArgNames({"tokens", "interleaved"})
    ->Args({1, 0})
    ->Args({512, 0})
    ->Args({512, 1})
    ->UseRealTime();
BENCHMARK(rope_angles_bench)->ArgName("tokens")->Arg(1)->Arg(512);
BENCHMARK(log_sum_exp_bench)->ArgName("vocab")->Arg(128256);
BENCHMARK(argmax_bench)->ArgName("vocab")->Arg(128256);

}  // namespace
}  // namespace kvern::compute

BENCHMARK_MAIN();
