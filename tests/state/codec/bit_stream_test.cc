#include "state/codec/integer/bit_stream.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace kvern::state::integer {
namespace {

template <int kBits>
void check() {
  std::mt19937_64 random(kBits);
  std::vector<uint8_t> codes(64);
  for (uint8_t& code : codes) code = static_cast<uint8_t>(random() & ((1U << kBits) - 1));
  std::vector<std::byte> stream(8 * kBits);
  pack_codes<kBits>(codes.data(), 64, stream.data());
  for (size_t i = 0; i < codes.size(); ++i) {
    for (size_t b = 0; b < kBits; ++b) {
      const size_t at = i * kBits + b;
      ASSERT_EQ(std::to_integer<int>(stream[at / 8]) >> at % 8 & 1, codes[i] >> b & 1) << "code " << i;
    }
  }
  for (size_t i = 0; i < codes.size(); i += 8) {
    uint64_t word = ~uint64_t{0};  // what lies beyond eight codes does not matter
    std::memcpy(&word, stream.data() + i / 8 * kBits, kBits);
    word = unpack_eight<kBits>(word);
    ASSERT_EQ(std::memcmp(&word, codes.data() + i, 8), 0) << kBits << " bits";
  }
}

TEST(BitStream, HasCodeIInBitsFromITimesBitsOn) {
  check<1>();
  check<2>();
  check<3>();
  check<4>();
  check<5>();
  check<6>();
  check<7>();
  check<8>();
}

}  // namespace
}  // namespace kvern::state::integer
