#include "model/synth/random_numbers.h"

#include <cstddef>

namespace kvern::model {
namespace {

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

}  // namespace

void fill_random(RandomKey key, uint64_t first, Distribution distribution, std::span<float> out) {
  const uint64_t start = mix(mix(key.seed + kGolden) ^ (key.tensor + 1) * kGolden);
  // Four uniform numbers of 0..65535: mean 4 * 32767.5, variance 4 * (65536^2 - 1) / 12.
  constexpr float kMean = 131070.0F;
  constexpr float kInverseDeviation = 1.0F / 37837.227F;
  const float scale = distribution.deviation * kInverseDeviation;
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t bits = mix(start + (first + i) * kGolden);
    const uint64_t pairs = (bits & 0x0000ffff0000ffffULL) + ((bits >> 16) & 0x0000ffff0000ffffULL);
    const auto sum = static_cast<int32_t>((pairs & 0xffffffffU) + (pairs >> 32));
    out[i] = distribution.mean + scale * (static_cast<float>(sum) - kMean);
  }
}

}  // namespace kvern::model
