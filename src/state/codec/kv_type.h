// The types of keys and values as users name them, and what they mean for a head size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "state/codec/codec.h"
#include "state/codec/rotation.h"

namespace kvern::state {

/// Of keys or of values.
struct KvType {
  CodecKind kind = CodecKind::kF16;
  int bits = 0;
  int64_t group = 0;  ///< of affine types; 0 = 64, or 32 where the head size asks for it
  Rotation rotation = Rotation::kNone;
  bool operator==(const KvType&) const = default;
};

/// Whether numbers lose more than rounding to f32, f16 or bf16: what precision along a row is for.
constexpr bool is_encoded(const KvType& type) {
  return type.kind != CodecKind::kF32 && type.kind != CodecKind::kF16 && type.kind != CodecKind::kBF16;
}

struct KvTypes {
  KvType k;
  KvType v;
  bool operator==(const KvTypes&) const = default;
};

/// How one side is stored: the rotation first, then the codec.
struct SideCodec {
  const Codec* codec = nullptr;
  Rotation rotation = Rotation::kNone;
};

/// "f16", or one for each side: "k=h8,v=q4"; "turbo:k8v3". kInvalidArgument names the possible ones.
Result<KvTypes> parse_kv_types(std::string_view text);
/// What parse_kv_types reads.
std::string to_string(const KvTypes& types);

/// kInvalidArgument when vectors of `dim` numbers cannot be stored so; says which types can.
Result<SideCodec> resolve(const KvType& type, int64_t dim);

}  // namespace kvern::state
