// The kernels of one form, put together: encoding is the codec's own, all else follows from the form.
#if defined(KVERN_STATE_CODEC_INTEGER_KERNELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_STATE_CODEC_INTEGER_KERNELS_INL_H_
#undef KVERN_STATE_CODEC_INTEGER_KERNELS_INL_H_
#else
#define KVERN_STATE_CODEC_INTEGER_KERNELS_INL_H_
#endif

#include "hwy/highway.h"

#include "compute/kernels/half-inl.h"
#include "state/codec/integer/scores-inl.h"
#include "state/codec/integer/sums-inl.h"

KVERN_BEFORE_INTEGER();
namespace kvern::state {
namespace HWY_NAMESPACE {
namespace integer {
namespace half = compute::HWY_NAMESPACE::half;

/// Sixteen codes as floats.
HWY_INLINE F32x16 codes_to_float(const uint8_t* codes) {
  const hn::Rebind<uint8_t, IntTag> narrow;
  F32x16 r;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) {
    const auto v = hn::LoadU(narrow, codes + i * kWidth);
    r.part[i] = hn::ConvertTo(lanes::Tag(), hn::PromoteTo(IntTag(), v));
  }
  return r;
}

/// Whole numbers of 0 to 255 as bytes.
HWY_INLINE void store_codes(const F32x16& x, uint8_t* to) {
  const hn::Rebind<uint8_t, IntTag> narrow;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) {
    hn::StoreU(hn::DemoteTo(narrow, hn::ConvertTo(IntTag(), x.part[i])), narrow, to + i * kWidth);
  }
}

/// The group's parameters of one vector, in every lane.
template <typename F>
HWY_INLINE void load_parameters(const EncodedRun& from, int64_t index, F32x16& scale, F32x16& bias) {
  using Raw = typename F::Raw;
  Raw one[2];
  for (size_t p = 0; p < 2; ++p) {
    std::memcpy(&one[p], from.planes[p + 1] + index * static_cast<int64_t>(sizeof(Raw)), sizeof(Raw));
  }
  alignas(64) Raw first[16];
  alignas(64) Raw second[16];
  for (size_t i = 0; i < 16; ++i) {
    first[i] = one[0];
    second[i] = one[1];
  }
  scale = F::Parameters::scale(first, second);
  bias = F::Parameters::bias(first, second);
}

/// The unsigned codes of one group.
template <typename F, bool kFlip>
HWY_INLINE void unsigned_codes(const std::byte* record, int64_t number, int64_t group, uint8_t* out) {
  unpack_group<F>(record, number, group, out);
  if constexpr (kFlip) {
    for (int64_t d = 0; d < group; ++d) out[d] ^= 0x80;
  }
}

/// number = fma(code, scale, bias).
template <typename F>
void decode(const VectorShape& shape, const EncodedRun& from, float* out) {
  const int64_t groups = shape.groups();
  for (int64_t i = 0; i < from.count; ++i) {
    for (int64_t g = 0; g < groups; ++g, out += shape.group) {
      F32x16 scale;
      F32x16 bias;
      load_parameters<F>(from, i * groups + g, scale, bias);
      alignas(64) uint8_t codes[state::integer::kMaxGroup];
      unpack_group<F>(from.planes[0] + i * F::code_bytes(shape.dim), g * shape.group, shape.group, codes);
      for (int64_t d = 0; d < shape.group; d += 16) {
        lanes::store(lanes::fma(codes_to_float(codes + d), scale, bias), out + d);
      }
    }
  }
}

/// To one byte for each code, scales and biases in single precision.
template <typename F, bool kFlip>
void unpack(const VectorShape& shape, const EncodedRun& from, const EncodedRun& to) {
  const int64_t groups = shape.groups();
  auto* codes = reinterpret_cast<uint8_t*>(to.planes[0]);
  for (int64_t i = 0; i < from.count; ++i, codes += shape.dim) {
    const std::byte* record = from.planes[0] + i * F::code_bytes(shape.dim);
    for (int64_t g = 0; g < groups; ++g) {
      unsigned_codes<F, kFlip>(record, g * shape.group, shape.group, codes + g * shape.group);
    }
  }
  using Raw = typename F::Raw;
  const int64_t parameters = from.count * groups;
  const auto* first = reinterpret_cast<const Raw*>(from.planes[1]);
  const auto* second = reinterpret_cast<const Raw*>(from.planes[2]);
  auto* scales = reinterpret_cast<float*>(to.planes[1]);
  auto* biases = reinterpret_cast<float*>(to.planes[2]);
  int64_t i = 0;
  for (; i + 16 <= parameters; i += 16) {
    lanes::store(F::Parameters::scale(first + i, second + i), scales + i);
    lanes::store(F::Parameters::bias(first + i, second + i), biases + i);
  }
  if (i == parameters) return;
  Raw tail[2][16] = {};
  const auto rest = static_cast<size_t>(parameters - i);
  std::memcpy(tail[0], first + i, rest * sizeof(Raw));
  std::memcpy(tail[1], second + i, rest * sizeof(Raw));
  lanes::store_partial(F::Parameters::scale(tail[0], tail[1]), scales + i, rest);
  lanes::store_partial(F::Parameters::bias(tail[0], tail[1]), biases + i, rest);
}

/// One group of a vector to encode: its numbers in registers of 16.
struct GroupNumbers {
  F32x16 x[state::integer::kMaxGroup / 16];
  int64_t registers;

  GroupNumbers(const float* from, int64_t group) : registers(group / 16) {
    for (int64_t i = 0; i < registers; ++i) x[i] = lanes::load(from + 16 * i);
  }

  struct Range {
    float low;
    float high;
    bool finite;
  };
  Range range() const {
    const lanes::Tag df;
    const IntTag di;
    hn::Vec<lanes::Tag> low = x[0].part[0];
    hn::Vec<lanes::Tag> high = low;
    IntVector magnitude = hn::Zero(di);
    for (int64_t i = 0; i < registers; ++i) {
      for (int j = 0; j < kParts; ++j) {
        low = hn::Min(low, x[i].part[j]);
        high = hn::Max(high, x[i].part[j]);
        magnitude = hn::Max(magnitude, hn::BitCast(di, hn::Abs(x[i].part[j])));
      }
    }
    return {hn::GetLane(hn::MinOfLanes(df, low)), hn::GetLane(hn::MaxOfLanes(df, high)),
            hn::GetLane(hn::MaxOfLanes(di, magnitude)) < 0x7f800000};
  }
};

/// Encoder: static void group(const GroupNumbers&, uint8_t* codes, float& first, float& second).
template <typename F, typename Encoder>
void encode(const EncodeTask& task, const EncodedRun& to) {
  const VectorShape& shape = task.shape;
  const int64_t groups = shape.groups();
  for (int64_t i = 0; i < to.count; ++i) {
    const float* from = task.from + i * task.stride;
    std::byte* record = to.planes[0] + i * F::code_bytes(shape.dim);
    alignas(64) float first[state::integer::kMaxGroups];
    alignas(64) float second[state::integer::kMaxGroups];
    for (int64_t g = 0; g < groups; ++g) {
      alignas(64) uint8_t codes[state::integer::kMaxGroup];
      Encoder::group(GroupNumbers(from + g * shape.group, shape.group), codes, first[g], second[g]);
      state::integer::pack_codes<F::kBits>(codes, shape.group, record + F::code_bytes(g * shape.group));
    }
    alignas(64) uint16_t stored[2][state::integer::kMaxGroups];
    for (int64_t g = 0; g < groups; g += 16) {
      half::store_f16(lanes::load(first + g), stored[0] + g);
      half::store_f16(lanes::load(second + g), stored[1] + g);
    }
    std::memcpy(to.planes[1] + i * groups * 2, stored[0], static_cast<size_t>(groups) * 2);
    std::memcpy(to.planes[2] + i * groups * 2, stored[1], static_cast<size_t>(groups) * 2);
  }
}

}  // namespace integer
}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
