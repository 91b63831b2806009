// What a row is said to take at most is what the account sees while it grows.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "state/sequence/kv_cache.h"
#include "support/result_matchers.h"

namespace kvern::state {
namespace {

constexpr int64_t kMostTokens = 420;

KvType affine(int bits) { return {.kind = CodecKind::kAffine, .bits = bits}; }

KvLayerSpec any_layer() {
  return {.kv_heads = 1,
          .k_dim = 32,
          .v_dim = 32,
          .window = *rc::gen::element<int64_t>(0, 0, 1, 5, 16, 40, 100, 300),
          .sinks = *rc::gen::element<int64_t>(0, 0, 1, 4, 17, 70)};
}

KvOptions any_options() {
  KvOptions options;
  const auto bits = *rc::gen::element(2, 8);
  options.types = {affine(bits), affine(bits)};
  options.precision.quant_start = *rc::gen::element<int64_t>(0, 0, 1, 15, 16, 17, 100, 256, 300, 1000);
  options.precision.keep_first = *rc::gen::element<int64_t>(0, 0, 1, 16, 33, 120);
  options.precision.keep_last = *rc::gen::element<int64_t>(0, 0, 1, 16, 30, 200);
  options.layout =
      *rc::gen::element(LayoutKind::kPaged, LayoutKind::kSlab, LayoutKind::kRing, LayoutKind::kPadded);
  options.page = *rc::gen::element<int64_t>(16, 32, 64, 128, 256);
  options.slack = *rc::gen::element<int64_t>(0, 1, 16, 50);
  return options;
}

Result<std::unique_ptr<KvCache>> any_cache() {
  KvSpec spec;
  const auto layers = *rc::gen::inRange<size_t>(1, 4);
  for (size_t i = 0; i < layers; ++i) spec.layers.push_back(any_layer());
  return KvCache::create(spec, any_options());
}

/// Grows the row and says how many bytes it held during the step.
size_t grow(KvCache& cache, RowId row, int64_t tokens) {
  const RowAppend append[] = {{row, tokens}};
  auto step = cache.begin(append);
  const size_t during = cache.live_bytes();
  cache.commit(*std::move(step));
  return std::max(during, cache.live_bytes());
}

RC_GTEST_PROP(PeakBytes, AreWhatTheAccountSeesAtMostWhileARowGrowsByOneToken, ()) {
  const auto cache = *any_cache();
  const RowId row = cache->add_row();
  const auto first = *rc::gen::inRange<int64_t>(0, kMostTokens);
  for (int64_t n = 0; n < first; ++n) grow(*cache, row, 1);
  size_t most = cache->live_bytes();
  // Not where one form may grow while the other leaves a window.
  const bool exact = !cache->options().precision.mixed() ||
                     std::ranges::all_of(cache->spec().layers, [](const auto& l) { return l.window == 0; });
  RC_ASSERT(cache->peak_bytes({.first = first, .end = first}) == most);
  for (int64_t end = first + 1; end <= kMostTokens; ++end) {
    most = std::max(most, grow(*cache, row, 1));
    const size_t peak = cache->peak_bytes({.first = first, .end = end});
    RC_ASSERT((exact ? peak == most : peak >= most));
  }
}

RC_GTEST_PROP(PeakBytes, BoundWhatARowTakesThatGrowsInSteps, ()) {
  const auto cache = *any_cache();
  const RowId row = cache->add_row();
  const auto step = *rc::gen::element<int64_t>(1, 2, 15, 16, 17, 64, 100, 512);
  int64_t length = 0;
  size_t most = 0;
  while (length < kMostTokens) {
    const auto tokens = *rc::gen::inRange<int64_t>(1, std::min(step, kMostTokens - length) + 1);
    most = std::max(most, grow(*cache, row, tokens));
    length += tokens;
    RC_ASSERT(most <= cache->peak_bytes({.end = length, .step = step}));
  }
}

// Of full precision before the start, and of both forms in the step that reaches it.
TEST(PeakBytes, OfARowThatIsEncodedLaterAreThoseBefore) {
  KvOptions options{.types = {affine(4), affine(4)}, .layout = LayoutKind::kPaged};
  options.precision.quant_start = 4000;
  ASSERT_OK_AND_ASSIGN(const auto cache,
                       KvCache::create({{{.kv_heads = 2, .k_dim = 64, .v_dim = 64}}}, options));
  EXPECT_LT(cache->projected_bytes(4000), cache->projected_bytes(3999));
  EXPECT_EQ(cache->peak_bytes({.end = 3999}), cache->projected_bytes(3999));
  EXPECT_EQ(cache->peak_bytes({.end = 4000}), cache->projected_bytes(3999) + cache->projected_bytes(4000));
  EXPECT_EQ(cache->peak_bytes({.end = 8192}), cache->peak_bytes({.end = 4000}));
  EXPECT_GT(cache->peak_bytes({.end = 8192, .step = 512}), cache->peak_bytes({.end = 8192}));
  EXPECT_EQ(cache->peak_bytes({.first = 4000, .end = 8192}), cache->projected_bytes(8192));
  EXPECT_EQ(cache->peak_bytes({.end = int64_t{1} << 32}), cache->projected_bytes(int64_t{1} << 32));
}

}  // namespace
}  // namespace kvern::state
