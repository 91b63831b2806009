// The codec "bf16".
#pragma once

#include "state/codec/codec.h"

namespace kvern::state {

extern const Codec kBF16Codec;

}  // namespace kvern::state
