// The codec "f16".
#pragma once

#include "state/codec/codec.h"

namespace kvern::state {

extern const Codec kF16Codec;

}  // namespace kvern::state
