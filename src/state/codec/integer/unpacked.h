// What tiles of the integer codecs are unpacked to when many queries read them: a byte for each code, scales
// and biases in single precision. Internal: not in the registry, never stored.
#pragma once

#include <array>

#include "state/codec/codec.h"
#include "state/codec/integer/limits.h"

namespace kvern::state::integer {

/// [narrow_weights][group 32, 64, 128]
extern const std::array<Codec, 6> kUnpackedForms;

/// The form for codes of `bits` in groups of 32, 64 or 128.
constexpr const Codec& unpacked_form(int bits, int64_t group) {
  const size_t size = group == 32 ? 0 : group == 64 ? 1 : 2;
  return kUnpackedForms[(narrow_weights(bits) ? 3 : 0) + size];
}

/// Whether vectors of `dim` numbers fit the codec's group and the kernels' scratch.
bool takes_groups(const Codec& codec, int64_t dim);
/// Codes of codec.bits in plane 0, half-precision parameters in planes 1 and 2.
size_t grouped_record_bytes(const Codec& codec, int plane, int64_t dim);

}  // namespace kvern::state::integer
