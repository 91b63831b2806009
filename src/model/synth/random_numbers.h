// Random weights as a function of (seed, tensor, element): any part can be made alone, in any order, by any
// thread.
#pragma once

#include <cstdint>
#include <span>

namespace kvern::model {

/// Which stream of numbers.
struct RandomKey {
  uint64_t seed = 0;
  uint64_t tensor = 0;
};

/// out[i] = mean + deviation * z for element `first` + i, with z of mean 0 and variance 1: the sum of four
/// 16-bit uniform numbers from one SplitMix64 output (Steele et al., OOPSLA 2014), close to normal and
/// bounded by 3.46.
struct Distribution {
  float mean = 0.0F;
  float deviation = 1.0F;
};
void fill_random(RandomKey key, uint64_t first, Distribution distribution, std::span<float> out);

}  // namespace kvern::model
