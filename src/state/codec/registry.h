// All codecs, by id and by name.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "state/codec/codec.h"

namespace kvern::state {

std::span<const Codec* const> all_codecs();
const Codec& codec(CodecId id);
/// By its name, for example "f16"; kInvalidArgument with the possible names otherwise.
Result<CodecId> parse_codec(std::string_view name);

}  // namespace kvern::state
