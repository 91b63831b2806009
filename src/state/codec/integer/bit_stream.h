// Codes of 1 to 8 bits as a flat little-endian bit stream: code i occupies bits [i * bits, (i + 1) * bits).
// Eight codes fill `bits` whole bytes, so a stream is handled eight codes at a time: in a 64-bit word, one
// code in each byte, the codes are moved together (or apart) in three steps of pairs, fours and eights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace kvern::state::integer {

/// Eight codes, one in each byte of `codes`, as 8 * kBits bits.
template <int kBits>
constexpr uint64_t pack_eight(uint64_t codes) {
  if constexpr (kBits == 8) return codes;
  constexpr uint64_t kOne = 0x0001000100010001U * ((1U << kBits) - 1);
  constexpr uint64_t kTwo = 0x0000000100000001U * ((1U << 2 * kBits) - 1);
  constexpr uint64_t kFour = (uint64_t{1} << 4 * kBits) - 1;
  codes = (codes & kOne) | (codes >> (8 - kBits) & kOne << kBits);
  codes = (codes & kTwo) | (codes >> (16 - 2 * kBits) & kTwo << 2 * kBits);
  return (codes & kFour) | codes >> 32 << 4 * kBits;
}

/// The inverse; bits beyond 8 * kBits do not matter.
template <int kBits>
constexpr uint64_t unpack_eight(uint64_t bits) {
  if constexpr (kBits == 8) return bits;
  constexpr uint64_t kOne = 0x0001000100010001U * ((1U << kBits) - 1);
  constexpr uint64_t kTwo = 0x0000000100000001U * ((1U << 2 * kBits) - 1);
  constexpr uint64_t kFour = (uint64_t{1} << 4 * kBits) - 1;
  bits = (bits & kFour) | (bits >> 4 * kBits & kFour) << 32;
  bits = (bits & kTwo) | (bits & kTwo << 2 * kBits) << (16 - 2 * kBits);
  return (bits & kOne) | (bits & kOne << kBits) << (8 - kBits);
}

/// `count` codes (a multiple of 8) from bytes to the stream.
template <int kBits>
void pack_codes(const uint8_t* codes, int64_t count, std::byte* to) {
  for (int64_t i = 0; i < count; i += 8, to += kBits) {
    uint64_t word;
    std::memcpy(&word, codes + i, 8);
    word = pack_eight<kBits>(word);
    std::memcpy(to, &word, kBits);
  }
}

}  // namespace kvern::state::integer
