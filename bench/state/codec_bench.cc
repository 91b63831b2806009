// What the codecs' kernels cost: reading a stored context as attention does in decode, and encoding.
//
//   codec_bench --benchmark_filter=attend/.*/64/8192/1
//
// attend/CODEC/HEAD_SIZE/CONTEXT/THREADS: four queries of each key/value head read a context of CONTEXT
// positions, tile by tile: scores, then weighted sums. There are so many heads that nothing stays in a cache
// from one pass to the next. ns_per_token is the time for each position of one head (keys and values), of one
// thread; GBps counts stored bytes of all threads. h types have the bits of q types here: the rotation is the
// caller's.
#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "state/codec/kv_type.h"
#include "state/codec/registry.h"

namespace kvern::state {
namespace {

constexpr int64_t kQueries = 4;
constexpr size_t kTotalBytes = size_t{192} << 20;  // far more than any L3 here
constexpr int64_t kEncoded = 512;

std::vector<float> normal_floats(int64_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using Bytes = std::unique_ptr<std::byte[], Free>;
Bytes allocate(size_t bytes) {
  return Bytes(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
}

/// One side of one head: `context` stored vectors.
struct Stream {
  Stream(const Codec& codec, int64_t dim, int64_t context, const std::vector<float>& numbers)
      : codec(codec), dim(dim) {
    run.count = context;
    for (int p = 0; p < codec.planes; ++p) {
      planes[static_cast<size_t>(p)] =
          allocate(codec.record_bytes(codec, p, dim) * static_cast<size_t>(context));
      run.planes[static_cast<size_t>(p)] = planes[static_cast<size_t>(p)].get();
    }
    const CodecKernels& kernels = codec.kernels(*compute::best_target());
    kernels.encode({numbers.data(), dim, codec.shape(dim)}, part(0, kEncoded));
    for (int64_t first = kEncoded; first < context; first += kEncoded) {
      for (int p = 0; p < codec.planes; ++p) {
        const auto plane = static_cast<size_t>(p);
        std::memcpy(part(first, kEncoded).planes[plane], run.planes[plane],
                    codec.record_bytes(codec, p, dim) * kEncoded);
      }
    }
  }
  EncodedRun part(int64_t first, int64_t count) const {
    EncodedRun out{.count = std::clamp<int64_t>(run.count - first, 0, count)};
    for (int p = 0; p < codec.planes; ++p) {
      const auto plane = static_cast<size_t>(p);
      out.planes[plane] = run.planes[plane] + static_cast<size_t>(first) * codec.record_bytes(codec, p, dim);
    }
    return out;
  }
  size_t bytes() const {
    size_t sum = 0;
    for (int p = 0; p < codec.planes; ++p)
      sum += codec.record_bytes(codec, p, dim) * static_cast<size_t>(run.count);
    return sum;
  }

  const Codec& codec;
  int64_t dim;
  std::array<Bytes, kMaxPlanes> planes;
  EncodedRun run;
};

struct Head {
  Stream keys;
  Stream values;
};

/// Four queries over one head; what comes two tiles later is fetched, as attention does.
void read_head(compute::CpuTarget target, const Head& head, const std::vector<float>& q,
               std::vector<float>& sums) {
  const CodecKernels& keys = head.keys.codec.kernels(target);
  const CodecKernels& values = head.values.codec.kernels(target);
  const VectorShape k_shape = head.keys.codec.shape(head.keys.dim);
  const VectorShape v_shape = head.values.codec.shape(head.values.dim);
  const Bytes queries = allocate(keys.query_bytes(k_shape) * kQueries);
  keys.prepare({q.data(), kQueries, k_shape, queries.get()});
  alignas(64) float scores[kQueries * kTile];
  for (int64_t first = 0; first < head.keys.run.count; first += kTile) {
    const EncodedRun k = head.keys.part(first, kTile);
    const EncodedRun next_k = head.keys.part(first + 2 * kTile, kTile);
    keys.scores({queries.get(), kQueries, k_shape, scores, kTile, {&next_k, 1}}, {&k, 1});
    benchmark::DoNotOptimize(scores);
    const EncodedRun v = head.values.part(first, kTile);
    const EncodedRun next_v = head.values.part(first + 2 * kTile, kTile);
    values.accumulate({scores, kTile, kQueries, v_shape, sums.data(), {&next_v, 1}}, {&v, 1});
  }
  benchmark::DoNotOptimize(sums.data());
}

struct Shape {
  int64_t dim;
  int64_t context;
  int threads;
};

void attend(benchmark::State& state, const std::string& type, const Shape& shape) {
  const KvTypes types = *parse_kv_types(type);
  const Codec& k = *resolve(types.k, shape.dim)->codec;
  const Codec& v = *resolve(types.v, shape.dim)->codec;
  const std::vector<float> numbers = normal_floats(kEncoded * shape.dim);
  std::vector<Head> heads;
  size_t bytes = 0;
  while (bytes < kTotalBytes || heads.size() % 2 != 0) {
    heads.push_back(
        {Stream(k, shape.dim, shape.context, numbers), Stream(v, shape.dim, shape.context, numbers)});
    bytes += heads.back().keys.bytes() + heads.back().values.bytes();
  }
  const compute::CpuTarget target = *compute::best_target();
  const auto work = [&](size_t thread) {
    std::vector<float> sums(static_cast<size_t>(kQueries * shape.dim));
    for (size_t h = thread; h < heads.size(); h += static_cast<size_t>(shape.threads)) {
      read_head(target, heads[h], numbers, sums);
    }
  };
  for (auto _ : state) {
    std::vector<std::jthread> threads;
    for (int t = 1; t < shape.threads; ++t) threads.emplace_back(work, t);
    work(0);
  }
  const auto passes = static_cast<double>(state.iterations());
  const double tokens = static_cast<double>(heads.size()) * static_cast<double>(shape.context);
  state.counters["ns_per_token"] = benchmark::Counter(
      passes * tokens * 1e-9 / shape.threads, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["GBps"] =
      benchmark::Counter(passes * static_cast<double>(bytes) * 1e-9, benchmark::Counter::kIsRate);
}

/// One of the two operations over vectors that lie in the L2 cache: what the instructions cost.
enum class Operation { kScores, kSums };
void compute_only(benchmark::State& state, const std::string& type, int64_t dim, Operation operation) {
  const Codec& codec = *resolve(parse_kv_types(type)->k, dim)->codec;
  const std::vector<float> numbers = normal_floats(kEncoded * dim);
  const Stream stream(codec, dim, kEncoded, numbers);
  const CodecKernels& kernels = codec.kernels(*compute::best_target());
  const VectorShape shape = codec.shape(dim);
  const Bytes queries = allocate(kernels.query_bytes(shape) * kQueries);
  kernels.prepare({numbers.data(), kQueries, shape, queries.get()});
  alignas(64) float scores[kQueries * kTile];
  std::copy_n(numbers.data(), kQueries * kTile, scores);
  std::vector<float> sums(static_cast<size_t>(kQueries * dim));
  for (auto _ : state) {
    for (int64_t first = 0; first < kEncoded; first += kTile) {
      const EncodedRun run = stream.part(first, kTile);
      if (operation == Operation::kScores) {
        kernels.scores({queries.get(), kQueries, shape, scores, kTile, {}}, {&run, 1});
      } else {
        kernels.accumulate({scores, kTile, kQueries, shape, sums.data(), {}}, {&run, 1});
      }
    }
    benchmark::DoNotOptimize(sums.data());
  }
  state.counters["ns_per_token"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kEncoded) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void encode(benchmark::State& state, const std::string& type, int64_t dim) {
  const Codec& codec = *resolve(parse_kv_types(type)->v, dim)->codec;
  const std::vector<float> numbers = normal_floats(kEncoded * dim);
  const Stream stream(codec, dim, kEncoded, numbers);
  const CodecKernels& kernels = codec.kernels(*compute::best_target());
  for (auto _ : state) kernels.encode({numbers.data(), dim, codec.shape(dim)}, stream.run);
  state.counters["ns_per_vector"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kEncoded) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Prefill: an unpacked tile read by 128 queries.
void read_unpacked(benchmark::State& state, const std::string& type, int64_t dim) {
  constexpr int64_t kMany = 128;
  const Codec& codec = *resolve(parse_kv_types(type)->k, dim)->codec;
  const Codec& form = *codec.unpacked;
  const std::vector<float> numbers = normal_floats(kEncoded * dim);
  const Stream stream(codec, dim, kEncoded, numbers);
  const compute::CpuTarget target = *compute::best_target();
  const CodecKernels& kernels = form.kernels(target);
  const VectorShape shape = codec.shape(dim);
  std::array<Bytes, kMaxPlanes> planes;
  EncodedRun tile{.count = kTile};
  for (int p = 0; p < form.planes; ++p) {
    planes[static_cast<size_t>(p)] = allocate(form.record_bytes(form, p, dim) * kTile);
    tile.planes[static_cast<size_t>(p)] = planes[static_cast<size_t>(p)].get();
  }
  const Bytes queries = allocate(kernels.query_bytes(shape) * kMany);
  kernels.prepare({numbers.data(), kMany, shape, queries.get()});
  std::vector<float> scores(kMany * kTile);
  std::vector<float> sums(static_cast<size_t>(kMany * dim));
  for (auto _ : state) {
    codec.kernels(target).unpack(shape, stream.part(0, kTile), tile);
    kernels.scores({queries.get(), kMany, shape, scores.data(), kTile, {}}, {&tile, 1});
    kernels.accumulate({scores.data(), kTile, kMany, shape, sums.data(), {}}, {&tile, 1});
  }
  const double pairs = static_cast<double>(state.iterations()) * kMany * kTile;
  state.counters["GFLOPS"] =
      benchmark::Counter(pairs * 4.0 * static_cast<double>(dim) * 1e-9, benchmark::Counter::kIsRate);
}

void register_all() {
  for (const char* type : {"f16", "fp8", "q8", "q6", "q5", "q4", "q3", "q2", "turbo:k8v3", "turbo:k4v4"}) {
    for (const int64_t dim : {64, 128}) {
      for (const int64_t context : {8192, 32768}) {
        for (const int threads : {1, 2}) {
          const std::string name = std::string("attend/") + type + "/" + std::to_string(dim) + "/" +
                                   std::to_string(context) + "/" + std::to_string(threads);
          benchmark::RegisterBenchmark(
              name.c_str(), [=](benchmark::State& state) { attend(state, type, {dim, context, threads}); })
              ->UseRealTime()
              ->Unit(benchmark::kMillisecond);
        }
      }
    }
  }
  for (const char* type : {"f16", "fp8", "q8", "q5", "q4", "q2", "k=f16,v=turbo3", "k=f16,v=turbo8"}) {
    const std::string name = std::string("encode/") + type + "/128";
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { encode(state, type, 128); });
  }
  for (const char* type : {"f16", "fp8", "q8", "q6", "q5", "q4", "q3", "q2", "k=turbo8,v=f16"}) {
    for (const int64_t dim : {64, 128}) {
      for (const Operation operation : {Operation::kScores, Operation::kSums}) {
        const std::string name = std::string(operation == Operation::kScores ? "scores/" : "sums/") + type +
                                 "/" + std::to_string(dim);
        benchmark::RegisterBenchmark(
            name.c_str(), [=](benchmark::State& state) { compute_only(state, type, dim, operation); });
      }
    }
  }
  for (const int64_t dim : {64, 128}) {
    const std::string name = "unpacked/q8/" + std::to_string(dim);
    benchmark::RegisterBenchmark(name.c_str(),
                                 [=](benchmark::State& state) { read_unpacked(state, "q8", dim); });
  }
}

}  // namespace
}  // namespace kvern::state

int main(int argc, char** argv) {
  kvern::state::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
