#include "engine/sample/philox.h"

namespace kvern::engine {
namespace {

// The constants of the paper, section 4.3: two multipliers, and the Weyl increments of the key (the golden
// ratio and the square root of 3, minus 1, in 32 bits).
constexpr uint64_t kMultiplier0 = 0xD2511F53;
constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9;
constexpr uint32_t kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

// Counter word 2 says what the numbers are for, so that no two uses ever see the same block.
constexpr uint32_t kDrawPurpose = 0;
constexpr uint32_t kChildPurpose = 1;

PhiloxKey key_of(uint64_t seed) { return {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}; }

uint64_t join(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }

double to_unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace

std::array<uint32_t, 4> philox4x32(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return counter;
}

PositionDraw draw_for_position(uint64_t seed, uint64_t position) {
  const auto words =
      philox4x32({static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), kDrawPurpose, 0},
                 key_of(seed));
  return {.token = to_unit(join(words[0], words[1])), .xtc = to_unit(join(words[2], words[3]))};
}

uint64_t child_seed(uint64_t seed, uint32_t child) {
  if (child == 0) return seed;
  const auto words = philox4x32({child, 0, kChildPurpose, 0}, key_of(seed));
  return join(words[0], words[1]);
}

}  // namespace kvern::engine
