// Register loops for the arithmetic peaks and a strided sum for the read bandwidth.
#include "compute/probe/machine_probe.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "compute/kernels/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/probe/machine_probe.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

HWY_BEFORE_NAMESPACE();
namespace kvern::compute {
namespace HWY_NAMESPACE {
namespace probe_detail {
namespace hn = hwy::HWY_NAMESPACE;

/// Reads `streams` pieces of `bytes` bytes each, 256 bytes from each in turn. The result depends on all of
/// them, so that no read is left out.
uint32_t read_streams(const uint8_t* data, int streams, size_t bytes) {
  const hn::ScalableTag<uint32_t> d;
  constexpr size_t kRun = 256;
  const size_t width = 4 * hn::Lanes(d);
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  for (size_t offset = 0; offset + kRun <= bytes; offset += kRun) {
    for (int s = 0; s < streams; ++s) {
      const uint8_t* p = data + static_cast<size_t>(s) * bytes + offset;
      for (size_t i = 0; i < kRun; i += 2 * width) {
        sum0 = hn::Add(sum0, hn::Load(d, reinterpret_cast<const uint32_t*>(p + i)));
        sum1 = hn::Add(sum1, hn::Load(d, reinterpret_cast<const uint32_t*>(p + i + width)));
      }
    }
  }
  // Not the lanes' sum: GCC's header adds them as signed numbers, which may not overflow.
  return hn::GetLane(hn::MaxOfLanes(d, hn::Add(sum0, sum1)));
}

constexpr int kChains = 12;

/// Returns the operations done in `rounds` rounds; the result keeps the compiler from leaving the work out.
double f32_rounds(int64_t rounds, float* sink) {
  const hn::ScalableTag<float> d;
  const auto a = hn::Set(d, sink[0]);
  const auto b = hn::Set(d, sink[1]);
  hn::Vec<decltype(d)> sums[kChains];
  for (auto& s : sums) s = hn::Zero(d);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (auto& s : sums) s = hn::MulAdd(a, s, b);
  }
  auto sum = hn::Zero(d);
  for (const auto& s : sums) sum = hn::Add(sum, s);
  sink[0] = hn::GetLane(sum) * 1e-30f;
  return 2.0 * static_cast<double>(rounds) * kChains * static_cast<double>(hn::Lanes(d));
}

HWY_AFTER_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni");
double int8_rounds(int64_t rounds, int32_t* sink) {
  const __m512i a = _mm512_set1_epi32(sink[0]);
  __m512i sums[kChains];
  for (auto& s : sums) s = _mm512_setzero_si512();
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (auto& s : sums) s = _mm512_dpbusd_epi32(s, a, a);
  }
  __m512i sum = sums[0];
  for (const auto& s : sums) sum = _mm512_add_epi32(sum, s);
  sink[0] = _mm512_reduce_add_epi32(sum) & 0x01010101;
  return 2.0 * static_cast<double>(rounds) * kChains * 64;
}
#else
HWY_BEFORE_NAMESPACE();
double int8_rounds(int64_t rounds, int32_t* sink) {
  const hn::ScalableTag<int32_t> d;
  const hn::Repartition<int16_t, decltype(d)> d16;
  const auto a = hn::BitCast(d16, hn::Set(d, sink[0]));
  hn::Vec<decltype(d)> sums[kChains];
  for (auto& s : sums) s = hn::Zero(d);
  auto other = hn::Zero(d);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (auto& s : sums) s = hn::ReorderWidenMulAccumulate(d, a, a, s, other);
  }
  auto sum = other;
  for (const auto& s : sums) sum = hn::Add(sum, s);
  sink[0] = hn::GetLane(sum) & 0x01010101;
  return 2.0 * static_cast<double>(rounds) * kChains * static_cast<double>(hn::Lanes(d16));
}
#endif
HWY_AFTER_NAMESPACE();
HWY_BEFORE_NAMESPACE();

}  // namespace probe_detail
}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::compute {
namespace {

constexpr auto kReadStreams = KVERN_TARGET_TABLE(probe_detail::read_streams);
constexpr auto kF32Rounds = KVERN_TARGET_TABLE(probe_detail::f32_rounds);
constexpr auto kInt8Rounds = KVERN_TARGET_TABLE(probe_detail::int8_rounds);

double seconds_of(auto&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// Runs `rounds(count, sink)` on every thread; the median of several runs of some 20 ms.
template <typename Sink>
double arithmetic_per_second(Context& context, double (*rounds)(int64_t, Sink*)) {
  constexpr int64_t kRounds = 2'000'000;
  const int threads = context.pool().threads();
  std::vector<double> rates;
  for (int repeat = 0; repeat < 7; ++repeat) {
    std::vector<double> operations(static_cast<size_t>(threads));
    const double seconds = seconds_of([&] {
      context.pool().run(threads, [&](int64_t i, int) {
        Sink sink[2] = {};
        operations[static_cast<size_t>(i)] = rounds(kRounds, sink);
      });
    });
    double total = 0.0;
    for (const double o : operations) total += o;
    rates.push_back(total / seconds);
  }
  return median(std::move(rates));
}

}  // namespace

ReadProbe::ReadProbe(Context& context, const ReadProbeOptions& options)
    : context_(context), streams_(options.streams) {
  const auto threads = static_cast<size_t>(context.pool().threads());
  const auto streams = static_cast<size_t>(options.streams);
  each_ = options.bytes / (threads * streams) / 4096 * 4096;
  share_ = each_ * streams;
  memory_.reset(new uint8_t[share_ * threads + 64]);
  data_ = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(memory_.get()) + 63) / 64 * 64);
  context.pool().run(static_cast<int64_t>(threads), [&](int64_t i, int) {
    std::fill_n(data_ + static_cast<size_t>(i) * share_, share_, static_cast<uint8_t>(i));
  });
}

double ReadProbe::bytes_per_second() {
  const int threads = context_.pool().threads();
  std::atomic<uint32_t> sink{0};
  const double seconds = seconds_of([&] {
    context_.pool().run(threads, [&](int64_t i, int) {
      sink += kReadStreams[context_.target()](data_ + static_cast<size_t>(i) * share_, streams_, each_);
    });
  });
  return static_cast<double>(share_ * static_cast<size_t>(threads)) / seconds;
}

double read_bytes_per_second(Context& context, const ReadProbeOptions& options) {
  ReadProbe probe(context, options);
  std::vector<double> rates;
  rates.reserve(static_cast<size_t>(options.repeats));
  for (int repeat = 0; repeat < options.repeats; ++repeat) rates.push_back(probe.bytes_per_second());
  return median(std::move(rates));
}

double f32_ops_per_second(Context& context) {
  return arithmetic_per_second(context, kF32Rounds[context.target()]);
}

double int8_ops_per_second(Context& context) {
  return arithmetic_per_second(context, kInt8Rounds[context.target()]);
}

MachineCeilings probe_machine(Context& context) {
  MachineCeilings ceilings;
  for (const int streams : {1, 2, 4, 8}) {
    const double rate = read_bytes_per_second(context, {.streams = streams});
    if (rate <= ceilings.read_bytes_per_second) continue;
    ceilings.read_bytes_per_second = rate;
    ceilings.read_streams = streams;
  }
  ceilings.int8_ops_per_second = int8_ops_per_second(context);
  ceilings.f32_ops_per_second = f32_ops_per_second(context);
  return ceilings;
}

}  // namespace kvern::compute
#endif
