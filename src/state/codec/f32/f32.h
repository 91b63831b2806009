// The codec "f32".
#pragma once

#include "state/codec/codec.h"

namespace kvern::state {

extern const Codec kF32Codec;

}  // namespace kvern::state
