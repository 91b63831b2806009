// All codecs.
#pragma once

#include <span>

#include "state/codec/codec.h"

namespace kvern::state {

std::span<const Codec* const> all_codecs();
/// Null when there is none such. `group` = 0 for codecs without groups.
const Codec* find_codec(CodecKind kind, int bits = 0, int64_t group = 0);

}  // namespace kvern::state
