// Bit streams of codes to one byte for each code, on each instruction set.
#if defined(KVERN_STATE_CODEC_INTEGER_BYTES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_STATE_CODEC_INTEGER_BYTES_INL_H_
#undef KVERN_STATE_CODEC_INTEGER_BYTES_INL_H_
#else
#define KVERN_STATE_CODEC_INTEGER_BYTES_INL_H_
#endif

#include "hwy/highway.h"

#include <array>

#include "state/codec/integer/bit_stream.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::state {
namespace HWY_NAMESPACE {
namespace integer {
using state::integer::unpack_eight;

#if HWY_TARGET <= HWY_AVX3_DL

/// 64 bytes of indices or shifts for a byte permutation.
struct ByteVector {
  alignas(64) std::array<uint8_t, 64> bytes;
};

// Word k of the result gets the bytes that hold codes 8k to 8k + 7.
template <int kBits>
constexpr ByteVector gather_indices() {
  ByteVector v{};
  for (size_t i = 0; i < 64; ++i) v.bytes[i] = static_cast<uint8_t>((kBits * (i / 8) + i % 8) & 63);
  return v;
}
// In each word, byte j is the eight bits from bit kBits * j on.
template <int kBits>
constexpr ByteVector field_shifts() {
  ByteVector v{};
  for (size_t i = 0; i < 64; ++i) v.bytes[i] = static_cast<uint8_t>(kBits * (i % 8));
  return v;
}

template <int kBits>
HWY_INLINE __m512i spread_codes(__m512i stream) {
  static constexpr ByteVector kGather = gather_indices<kBits>();
  static constexpr ByteVector kShifts = field_shifts<kBits>();
  const __m512i words = _mm512_permutexvar_epi8(_mm512_load_si512(kGather.bytes.data()), stream);
  const __m512i fields = _mm512_multishift_epi64_epi8(_mm512_load_si512(kShifts.bytes.data()), words);
  return _mm512_and_si512(fields, _mm512_set1_epi8((1 << kBits) - 1));
}

/// `count` codes, a multiple of 32; reads their kBits * count / 8 bytes and nothing beyond.
template <int kBits>
HWY_INLINE void unpack_codes(const std::byte* from, int64_t count, uint8_t* to) {
  int64_t i = 0;
  for (; i + 64 <= count; i += 64, from += 8 * kBits) {
    constexpr __mmask64 kWhole = kBits == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * kBits % 64)) - 1;
    const __m512i stream = _mm512_maskz_loadu_epi8(kWhole, from);
    _mm512_storeu_si512(to + i, kBits == 8 ? stream : spread_codes<kBits>(stream));
  }
  if (i < count) {
    const __m512i stream = _mm512_maskz_loadu_epi8((uint64_t{1} << 4 * kBits) - 1, from);
    const __m512i codes = kBits == 8 ? stream : spread_codes<kBits>(stream);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm512_castsi512_si256(codes));
  }
}

#else

/// `count` codes, a multiple of 32; reads their kBits * count / 8 bytes and nothing beyond.
template <int kBits>
HWY_INLINE void unpack_codes(const std::byte* from, int64_t count, uint8_t* to) {
  for (int64_t i = 0; i < count; i += 8, from += kBits) {
    uint64_t word = 0;
    std::memcpy(&word, from, kBits);
    word = unpack_eight<kBits>(word);
    std::memcpy(to + i, &word, 8);
  }
}

#endif

}  // namespace integer
}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
