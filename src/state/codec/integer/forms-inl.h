// The stored forms that share the integer arithmetic of docs/kv-codecs.md: codes in plane 0, one pair of
// parameters for each group in planes 1 and 2. A form says how its bytes become unsigned 8-bit codes and the
// scale and bias of number = scale * code + bias.
#if defined(KVERN_STATE_CODEC_INTEGER_FORMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_STATE_CODEC_INTEGER_FORMS_INL_H_
#undef KVERN_STATE_CODEC_INTEGER_FORMS_INL_H_
#else
#define KVERN_STATE_CODEC_INTEGER_FORMS_INL_H_
#endif

#include "hwy/highway.h"

#include <array>
#include <type_traits>

#include "state/codec/codec.h"
#include "state/codec/integer/blocks-inl.h"
#include "state/codec/integer/bytes-inl.h"
#include "state/codec/integer/limits.h"

KVERN_BEFORE_INTEGER();
namespace kvern::state {
namespace HWY_NAMESPACE {
namespace integer {

/// Scales and biases in half precision.
struct HalfParameters {
  using Raw = uint16_t;
  static HWY_INLINE F32x16 scale(const Raw* first, const Raw*) { return lanes::load_f16(first); }
  static HWY_INLINE F32x16 bias(const Raw*, const Raw* second) { return lanes::load_f16(second); }
};

/// Scales and zeros in half precision: number = (index + zero) * scale, index = code - kOffset.
template <int kOffset>
struct ZeroParameters {
  using Raw = uint16_t;
  static HWY_INLINE F32x16 scale(const Raw* first, const Raw*) { return lanes::load_f16(first); }
  static HWY_INLINE F32x16 bias(const Raw* first, const Raw* second) {
    const F32x16 zero = lanes::sub(lanes::load_f16(second), lanes::set(kOffset));
    return lanes::mul(zero, lanes::load_f16(first));
  }
};

struct FloatParameters {
  using Raw = float;
  static HWY_INLINE F32x16 scale(const Raw* first, const Raw*) { return lanes::load(first); }
  static HWY_INLINE F32x16 bias(const Raw*, const Raw* second) { return lanes::load(second); }
};

/// kFlip: stored bytes are signed, 128 less than the code. kNarrow: weights of values have one byte.
template <int kBitCount, typename ParametersType, bool kFlip = false,
          bool kNarrow = state::integer::narrow_weights(kBitCount)>
struct Form {
  static constexpr int kBits = kBitCount;
  using Parameters = ParametersType;
  using Raw = typename Parameters::Raw;
  static constexpr bool kNarrowWeights = kNarrow;
  using KeyDot = NarrowDot;
  using ValueDot = std::conditional_t<kNarrow, NarrowDot, Dot>;
  static constexpr float kQueryLimit = kNarrowLimit;
  static constexpr float kWeightLimit = kNarrow ? kNarrowLimit : kWideLimit;
  /// Read as they are; other forms are unpacked to 8 bits first.
  static constexpr bool kDirect = kBits == 8 || kBits == 4;
  /// Whether a unit comes as its even dimensions, then its odd ones: each byte holds one of each.
  static constexpr bool kPairs = kBits == 4;

  static constexpr int64_t code_bytes(int64_t numbers) { return numbers * kBits / 8; }
  static std::array<int64_t, 3> record_bytes(const VectorShape& shape) {
    const int64_t parameters = shape.groups() * static_cast<int64_t>(sizeof(Raw));
    return {code_bytes(shape.dim), parameters, parameters};
  }

  /// Sixteen keys, numbers at… of their records: eight rows, each four numbers of a key in a dword.
  static HWY_INLINE void key_rows(const Records& records, int64_t number, I32x16* rows) {
    if constexpr (kPairs) {
      I32x16 packed[4];
      load_key_dwords(records, number / 2, packed);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        rows[2 * j] = low_nibbles(packed[j]);
        rows[2 * j + 1] = high_nibbles(packed[j]);
      }
    } else {
      load_key_dwords(records, number, rows);
      load_key_dwords(records, number + 16, rows + 4);
      if constexpr (kFlip) {
#pragma GCC unroll 8
        for (int j = 0; j < 8; ++j) rows[j] = flip_bytes(rows[j], 0x80808080U);
      }
    }
  }

  /// Four values, one unit of dimensions from number on: two vectors of 16 dimensions, each four values of a
  /// dimension in a dword.
  static HWY_INLINE void value_vectors(const Records& records, int64_t number, I32x16* out) {
    if constexpr (kPairs) {
      const I32x16 packed = load_value_bytes(records, number / 2);
      out[0] = low_nibbles(packed);
      out[1] = high_nibbles(packed);
    } else {
      out[0] = load_value_bytes(records, number);
      out[1] = load_value_bytes(records, number + 16);
      if constexpr (kFlip) {
        out[0] = flip_bytes(out[0], 0x80808080U);
        out[1] = flip_bytes(out[1], 0x80808080U);
      }
    }
  }
};

/// A form of one byte for each code, what other forms are unpacked to.
template <typename F>
using BytesOf = Form<8, typename F::Parameters, false, F::kNarrowWeights>;

/// One group of a vector's codes, as bytes.
template <typename F>
HWY_INLINE void unpack_group(const std::byte* record, int64_t number, int64_t count, uint8_t* out) {
  unpack_codes<F::kBits>(record + F::code_bytes(number), count, out);
}

}  // namespace integer
}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
