// Runs a test body on each instruction set that this machine has, and on several thread counts.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "compute/context.h"

namespace kvern::test {

inline std::vector<compute::CpuTarget> supported_targets() {
  std::vector<compute::CpuTarget> targets;
  for (const compute::CpuTarget target : compute::compiled_targets()) {
    if (compute::is_supported(target)) targets.push_back(target);
  }
  return targets;
}

/// Calls body(context) -> std::vector<T> on every target with 1, 2, 3 and 8 threads; fails unless all results
/// have the same bits. Returns the result.
template <typename Body>
auto same_on_every_target(const Body& body) {
  decltype(body(std::declval<compute::Context&>())) first;
  bool have_first = false;
  for (const compute::CpuTarget target : supported_targets()) {
    for (const int threads : {1, 2, 3, 8}) {
      compute::Context context(target, threads);
      auto result = body(context);
      if (!have_first) {
        first = std::move(result);
        have_first = true;
        continue;
      }
      EXPECT_TRUE(result.size() == first.size() &&
                  std::memcmp(result.data(), first.data(), first.size() * sizeof(first[0])) == 0)
          << compute::to_string(target) << " with " << threads << " threads gives other bits";
    }
  }
  EXPECT_TRUE(have_first);
  return first;
}

inline std::vector<float> normal_floats(int64_t count, float deviation = 1.0F, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, deviation);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

}  // namespace kvern::test
