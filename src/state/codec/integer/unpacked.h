// What tiles of the integer codecs are unpacked to when many queries read them: a byte for each code, scales
// and biases in single precision. Internal: not in the registry, never stored.
#pragma once

#include "state/codec/codec.h"

namespace kvern::state::integer {

/// By group: 32, 64, 128.
extern const Codec kUnpacked32;
extern const Codec kUnpacked64;
extern const Codec kUnpacked128;

/// Whether vectors of `dim` numbers fit the codec's group and the kernels' scratch.
bool takes_groups(const Codec& codec, int64_t dim);
/// Codes of codec.bits in plane 0, half-precision parameters in planes 1 and 2.
size_t grouped_record_bytes(const Codec& codec, int plane, int64_t dim);

}  // namespace kvern::state::integer
