#include "state/codec/registry.h"

#include <array>
#include <string>

#include "base/check.h"
#include "state/codec/bf16/bf16.h"
#include "state/codec/f16/f16.h"
#include "state/codec/f32/f32.h"

namespace kvern::state {
namespace {

// A new codec is one line here.
constexpr std::array<const Codec*, 3> kCodecs = {&kF32Codec, &kF16Codec, &kBF16Codec};

}  // namespace

std::span<const Codec* const> all_codecs() { return kCodecs; }

const Codec& codec(CodecId id) {
  for (const Codec* candidate : kCodecs) {
    if (candidate->id == id) return *candidate;
  }
  KVERN_CHECK(false);
  return *kCodecs[0];
}

Result<CodecId> parse_codec(std::string_view name) {
  std::string names;
  for (const Codec* candidate : kCodecs) {
    if (candidate->name == name) return candidate->id;
    names += (names.empty() ? "" : ", ") + std::string(candidate->name);
  }
  return fail(ErrorCode::kInvalidArgument, "no such type of the KV cache; choose one of: " + names,
              std::string(name));
}

}  // namespace kvern::state
