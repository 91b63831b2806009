#include "model/synth/random_numbers.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace kvern::model {
namespace {

std::vector<float> numbers(RandomKey key, uint64_t first, size_t count, Distribution distribution = {}) {
  std::vector<float> out(count);
  fill_random(key, first, distribution, out);
  return out;
}

TEST(RandomNumbers, are_the_same_in_whatever_parts_they_are_made) {
  const RandomKey key{.seed = 7, .tensor = 3};
  const std::vector<float> whole = numbers(key, 0, 1000);
  for (const size_t first : {size_t{1}, size_t{500}, size_t{999}}) {
    const std::vector<float> part = numbers(key, first, 1000 - first);
    EXPECT_TRUE(std::ranges::equal(part, std::span(whole).subspan(first)));
  }
}

TEST(RandomNumbers, differ_between_seeds_and_tensors) {
  const std::vector<float> base = numbers({.seed = 1, .tensor = 0}, 0, 100);
  EXPECT_NE(base, numbers({.seed = 2, .tensor = 0}, 0, 100));
  EXPECT_NE(base, numbers({.seed = 1, .tensor = 1}, 0, 100));
}

TEST(RandomNumbers, have_the_mean_and_deviation_that_were_asked_for_and_no_outliers) {
  const std::vector<float> values =
      numbers({.seed = 1, .tensor = 0}, 0, 1 << 18, {.mean = 3.0F, .deviation = 0.5F});
  double sum = 0.0;
  double squares = 0.0;
  for (const float v : values) {
    sum += v - 3.0;
    squares += (v - 3.0) * (v - 3.0);
    ASSERT_LE(std::fabs(v - 3.0F), 0.5F * 3.47F);
  }
  const auto n = static_cast<double>(values.size());
  EXPECT_NEAR(sum / n, 0.0, 0.005);
  EXPECT_NEAR(std::sqrt(squares / n), 0.5, 0.005);
}

TEST(RandomNumbers, of_neighbours_are_uncorrelated) {
  const std::vector<float> values = numbers({.seed = 9, .tensor = 2}, 0, 1 << 18);
  for (const size_t lag : {size_t{1}, size_t{2}, size_t{32}}) {
    double product = 0.0;
    for (size_t i = lag; i < values.size(); ++i) product += static_cast<double>(values[i]) * values[i - lag];
    EXPECT_NEAR(product / static_cast<double>(values.size()), 0.0, 0.01) << lag;
  }
}

}  // namespace
}  // namespace kvern::model
