// Faults that systems of this kind have shown their users, through the public interface. Named after the list
// in the specification, as in state/cases_test.cc; docs/parity.md says which test shows what.
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "kvern/state.h"
#include "support/result_matchers.h"

namespace kvern {
namespace {

// A state with one layer and rows that get random tokens from a seed.
class OneLayer {
 public:
  OneLayer(const KvLayer& layer, const KvStateOptions& options)
      : state(*KvState::create({layer}, options)), layer_(layer) {}

  /// Appends tokens drawn from `random`; what the tokens see.
  std::vector<float> step(KvRow row, int64_t tokens, std::mt19937& random) {
    const std::vector<float> k = draw(random, tokens * layer_.k_dim);
    const std::vector<float> v = draw(random, tokens * layer_.v_dim);
    return step(row, tokens, k, v, draw(random, tokens * layer_.k_dim));
  }
  std::vector<float> step(KvRow row, int64_t tokens, std::span<const float> k, std::span<const float> v,
                          std::span<const float> q) {
    std::vector<float> out(static_cast<size_t>(tokens * layer_.v_dim));
    KvStep open = *state.begin({{row, tokens}});
    EXPECT_OK(open.append(compute_, 0, {.k = k, .v = v}));
    EXPECT_OK(open.attend(compute_, 0, {.q = q, .out = out, .heads = 1}));
    EXPECT_OK(open.commit());
    return out;
  }
  static std::vector<float> draw(std::mt19937& random, int64_t count) {
    std::normal_distribution<float> normal;
    std::vector<float> numbers(static_cast<size_t>(count));
    for (float& x : numbers) x = normal(random);
    return numbers;
  }

  KvState state;

 private:
  KvLayer layer_;
  Compute compute_ = *Compute::create({.threads = 1});
};

TEST(PublicCase, B17_TheIdentityOfEachTypeIsWrittenOnceForAll) {
  const KvLayer layer{.kv_heads = 2, .k_dim = 128, .v_dim = 64, .window = 8, .sinks = 2};
  struct Golden {
    const char* type;
    const char* k;
    const char* v;
  };
  for (const Golden& golden :
       std::initializer_list<Golden>{{"f16", "128:f16", "64:f16"},
                                     {"q4", "128:q4g64", "64:q4g64"},
                                     {"q4g32", "128:q4g32", "64:q4g32"},
                                     {"q8", "128:q8g64", "64:q8g64"},
                                     {"h4", "128:q4g64+hadamard", "64:q4g64+hadamard"},
                                     {"k=h8,v=fp8", "128:q8g64+hadamard", "64:fp8"},
                                     {"turbo:k8v3", "128:turbo-k8", "64:turbo-v3+signed-hadamard"}}) {
    ASSERT_OK_AND_ASSIGN(const KvState state, KvState::create({layer}, {.type = golden.type}));
    EXPECT_EQ(state.identity(),
              "heads=2 k=" + std::string(golden.k) + " v=" + std::string(golden.v) + " window=8 sinks=2\n");
  }
  ASSERT_OK_AND_ASSIGN(
      const KvState mixed,
      KvState::create({layer},
                      {.type = "q4", .precision = {.quant_start = 7, .keep_first = 1, .keep_last = 3}}));
  EXPECT_EQ(mixed.identity(),
            "heads=2 k=128:q4g64 v=64:q4g64 window=8 sinks=2 full=f16 start=7 first=1 last=3\n");
}

TEST(PublicCase, B17_NoRowIsReadAsAnotherType) {
  const KvLayer layer{.kv_heads = 1, .k_dim = 64, .v_dim = 64};
  const std::array<const char*, 6> types = {"q4", "q4g32", "q8", "f16", "bf16", "h4"};
  for (const char* from : types) {
    OneLayer source(layer, {.type = from});
    std::mt19937 random(1);
    const KvRow row = *source.state.add_row();
    source.step(row, 20, random);
    ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> bytes, source.state.snapshot(row));
    for (const char* to : types) {
      OneLayer target(layer, {.type = to});
      if (std::string_view(from) == to) {
        EXPECT_OK(target.state.restore(bytes));
        continue;
      }
      EXPECT_ERROR(target.state.restore(bytes), kInvalidArgument, "another model, type or precision");
      EXPECT_EQ(target.state.usage().live, 0U);
    }
  }
}

// Four channels of the keys are fifty times the others; the error of what the tokens see, against f32.
double error_with_outliers(const std::string& type) {
  constexpr int64_t kTokens = 400;
  const KvLayer layer{.kv_heads = 1, .k_dim = 64, .v_dim = 64};
  std::mt19937 random(9);
  std::vector<float> k = OneLayer::draw(random, kTokens * 64);
  const std::vector<float> v = OneLayer::draw(random, kTokens * 64);
  std::vector<float> q = OneLayer::draw(random, kTokens * 64);
  for (size_t i = 0; i < k.size(); ++i) {
    const bool outlier = i % 64 % 16 == 5;
    k[i] *= outlier ? 50.0F : 1.0F;
    q[i] *=
        outlier ? 0.02F : 1.0F;  // such channels weigh no more than the others, or they alone would decide
  }
  OneLayer exact(layer, {.type = "f32"});
  OneLayer encoded(layer, {.type = type});
  const std::vector<float> right = exact.step(*exact.state.add_row(), kTokens, k, v, q);
  const std::vector<float> out = encoded.step(*encoded.state.add_row(), kTokens, k, v, q);
  double difference = 0;
  double whole = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    difference += (out[i] - right[i]) * (out[i] - right[i]);
    whole += right[i] * right[i];
  }
  return std::sqrt(difference / whole);
}

TEST(PublicCase, B18_OutliersOfKeysRuinFourBitsAndNotEight) {
  const double four = error_with_outliers("k=q4,v=f32");
  EXPECT_GT(four, 0.5) << "the case would show nothing";
  EXPECT_LT(error_with_outliers("k=q8,v=f32"), four / 5);
  EXPECT_LT(error_with_outliers("k=f16,v=q4"), four / 5) << "values have no such channels";
}

TEST(PublicCase, B33_AWindowComesBackInAnyCapacityAndLayout) {
  const KvLayer layer{.kv_heads = 1, .k_dim = 32, .v_dim = 32, .window = 8};
  for (const int64_t length : {5, 8, 9, 12, 13, 20, 100}) {
    for (const KvStateOptions& to : {KvStateOptions{.type = "q8", .layout = KvLayout::kRing, .slack = 4},
                                     KvStateOptions{.type = "q8", .layout = KvLayout::kRing, .slack = 8},
                                     KvStateOptions{.type = "q8", .layout = KvLayout::kPaged, .page = 16},
                                     KvStateOptions{.type = "q8", .layout = KvLayout::kPadded},
                                     KvStateOptions{.type = "q8", .layout = KvLayout::kSlab}}) {
      SCOPED_TRACE(testing::Message() << length << " tokens to layout " << static_cast<int>(to.layout));
      OneLayer source(layer, {.type = "q8", .layout = KvLayout::kRing, .slack = 4});
      OneLayer target(layer, to);
      std::mt19937 random(static_cast<uint32_t>(length));
      const KvRow row = *source.state.add_row();
      for (int64_t done = 0; done < length; ++done) source.step(row, 1, random);
      ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> bytes, source.state.snapshot(row));
      ASSERT_OK_AND_ASSIGN(const KvRow restored, target.state.restore(bytes));
      std::mt19937 same = random;
      for (int i = 0; i < 30; ++i) {
        const std::vector<float> right = source.step(row, 1, random);
        ASSERT_EQ(std::memcmp(right.data(), target.step(restored, 1, same).data(), right.size() * 4), 0);
      }
    }
  }
}

TEST(PublicCase, B33_NoSnapshotIsTakenOfAnOpenStep) {
  OneLayer one({.kv_heads = 1, .k_dim = 32, .v_dim = 32}, {});
  const KvRow row = *one.state.add_row();
  ASSERT_OK_AND_ASSIGN(const KvStep step, one.state.begin({{row, 3}}));
  EXPECT_ERROR(one.state.snapshot(row), kInvalidArgument, "while a step is open");
}

TEST(PublicCase, B58_BytesOfAWindowStayTheSameForEver) {
  for (const KvLayout layout : {KvLayout::kSlab, KvLayout::kRing, KvLayout::kPaged, KvLayout::kPadded}) {
    SCOPED_TRACE(static_cast<int>(layout));
    OneLayer one({.kv_heads = 1, .k_dim = 16, .v_dim = 16, .window = 64}, {.layout = layout, .page = 16});
    std::mt19937 random(2);
    const KvRow rows[] = {*one.state.add_row(), *one.state.add_row()};
    size_t most = 0;  // a slab has one chunk more or less of each row as its window passes a border
    for (int i = 0; i < 6000; ++i) {
      one.step(rows[i % 2], 1, random);
      if (i == 1500) most = one.state.allocated_bytes() + (layout == KvLayout::kSlab ? 2 * 256 * 64 : 0);
      if (i > 1500) {
        ASSERT_LE(one.state.allocated_bytes(), most) << "after " << i << " steps";
      }
    }
  }
}

}  // namespace
}  // namespace kvern
