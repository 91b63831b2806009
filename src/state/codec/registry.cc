#include "state/codec/registry.h"

#include <algorithm>
#include <array>

#include "state/codec/affine/affine.h"
#include "state/codec/bf16/bf16.h"
#include "state/codec/f16/f16.h"
#include "state/codec/f32/f32.h"
#include "state/codec/fp8/fp8.h"
#include "state/codec/turbo/turbo.h"

namespace kvern::state {
namespace {

using CodecList = std::array<const Codec*, 31>;

// A new codec is one line here, a family of them two.
const CodecList& codecs() {
  static const CodecList all = [] {
    CodecList list = {&kF32Codec, &kF16Codec, &kBF16Codec, &kFp8Codec};
    auto* at = list.data() + 4;
    for (const auto family : {affine_codecs(), turbo_key_codecs(), turbo_value_codecs()}) {
      for (const Codec& codec : family) *at++ = &codec;
    }
    return list;
  }();
  return all;
}

}  // namespace

std::span<const Codec* const> all_codecs() { return codecs(); }

const Codec* find_codec(CodecKind kind, int bits, int64_t group) {
  for (const Codec* candidate : codecs()) {
    if (candidate->kind == kind && candidate->bits == bits && candidate->group == group) return candidate;
  }
  return nullptr;
}

}  // namespace kvern::state
