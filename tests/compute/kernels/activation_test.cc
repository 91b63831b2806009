#include "compute/kernels/activation.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "support/every_target.h"
#include "support/reference/vector_reference.h"

namespace kvern::compute {
namespace {

using test::normal_floats;
using test::same_on_every_target;

struct Case {
  Activation activation;
  double (*reference)(double);
  double relative;  ///< largest allowed error, of the exact value
  double absolute;  ///< and beside it, of |x|
};
const Case kCases[] = {{Activation::kSilu, reference::silu, 1e-6, 0.0},
                       {Activation::kGeluTanh, reference::gelu_tanh, 3e-6, 0.0},
                       {Activation::kGeluErf, reference::gelu_erf, 3e-6, 0.0}};

// Dense over the range where the functions bend, and their tails as far as results are normal numbers.
std::vector<float> inputs() {
  std::vector<float> x;
  for (float v = -13.0F; v < 13.0F; v += 1.0F / 512) x.push_back(v);
  for (const float v : {0.0F, -0.0F, 1e-20F, -1e-20F, 1e-38F, 50.0F, 80.0F, 1e4F, 1e30F}) x.push_back(v);
  return x;
}

TEST(Glu, IsTheFormulaAndTheSameOnEveryTarget) {
  const auto x = inputs();
  const auto n = static_cast<int64_t>(x.size());
  for (const Case& c : kCases) {
    SCOPED_TRACE(static_cast<int>(c.activation));
    const auto out = same_on_every_target([&](Context& context) {
      std::vector<float> result(x.size());
      glu(context, c.activation, {.gate = x.data(), .out = result.data(), .tokens = 1, .n = n});
      return result;
    });
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = c.reference(x[i]);
      // The exponent of a tail grows with x^2, and so does what its rounding costs.
      const double growth =
          1.0 + 0.05 * static_cast<double>(x[i]) * x[i] * (std::abs(x[i]) < 14.0F ? 1.0 : 0.0);
      ASSERT_NEAR(out[i], want, c.relative * growth * std::abs(want) + 3e-39 * std::abs(x[i]))
          << "at " << x[i];
    }
  }
}

TEST(Glu, GoesToZeroAndInfinityAtTheEnds) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Case& c : kCases) {
    const std::vector<float> x = {-1e30F, -200.0F, infinity, std::numeric_limits<float>::quiet_NaN()};
    std::vector<float> out(4);
    Context context(*best_target(), 1);
    glu(context, c.activation, {.gate = x.data(), .out = out.data(), .tokens = 1, .n = 4});
    EXPECT_EQ(out[0], 0.0F);
    EXPECT_NEAR(out[1], 0.0F, 1e-30);
    EXPECT_EQ(out[2], infinity);
    EXPECT_TRUE(std::isnan(out[3]));
  }
}

TEST(Glu, MultipliesTheSecondInputWithStridesAndInPlace) {
  constexpr int64_t kTokens = 3;
  constexpr int64_t kN = 9001;                  // more than one task a row, and a rest
  auto both = normal_floats(kTokens * 2 * kN);  // gate and up of a token side by side
  const auto before = both;
  Context context(*best_target(), 3);
  glu(context, Activation::kSilu,
      {.gate = both.data(),
       .up = both.data() + kN,
       .out = both.data(),
       .tokens = kTokens,
       .n = kN,
       .gate_stride = 2 * kN,
       .up_stride = 2 * kN,
       .out_stride = 2 * kN});
  for (int64_t t = 0; t < kTokens; ++t) {
    for (int64_t i = 0; i < kN; ++i) {
      const auto at = static_cast<size_t>(t * 2 * kN + i);
      const double up = before[at + kN];
      const double want = reference::silu(before[at]) * up;
      ASSERT_NEAR(both[at], want, 2e-6 * std::abs(want));
      ASSERT_EQ(both[at + kN], before[at + kN]);
    }
  }
}

}  // namespace
}  // namespace kvern::compute
