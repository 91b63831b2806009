// The codec "fp8".
#pragma once

#include "state/codec/codec.h"

namespace kvern::state {

extern const Codec kFp8Codec;

}  // namespace kvern::state
