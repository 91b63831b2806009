#include "state/codec/kv_type.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "state/codec/registry.h"
#include "state/codec/turbo/turbo.h"

namespace kvern::state {
namespace {

enum class Side { kBoth, kKeys, kValues };

constexpr std::string_view kAffineBits = "865432";
constexpr std::string_view kKeyBits = "8542";
constexpr std::string_view kValueBits = "85432";
constexpr std::array<int64_t, 3> kGroups = {32, 64, 128};
constexpr std::string_view kTurbo = "turbo";
constexpr std::string_view kOrdinary =
    "f32, f16, bf16, fp8, q8, q6, q5, q4, q3, q2, h8, h6, h5, h4, h3, h2 (q and h also with a group, "
    "as in q4g32: 32, 64 or 128)";

struct Name {
  std::string_view text;
  CodecKind kind;
};
constexpr std::array<Name, 4> kFloats = {{{"f32", CodecKind::kF32},
                                          {"f16", CodecKind::kF16},
                                          {"bf16", CodecKind::kBF16},
                                          {"fp8", CodecKind::kFp8}}};

std::string name_of(const KvType& type) {
  switch (type.kind) {
    case CodecKind::kAffine: {
      const std::string bits = std::to_string(type.bits);
      const std::string group = type.group == 0 ? "" : "g" + std::to_string(type.group);
      return (type.rotation == Rotation::kHadamard ? "h" : "q") + bits + group;
    }
    case CodecKind::kTurboKey:
    case CodecKind::kTurboValue:
      return std::string(kTurbo) + std::to_string(type.bits);
    case CodecKind::kF32:
    case CodecKind::kF16:
    case CodecKind::kBF16:
    case CodecKind::kFp8:
      break;
  }
  const auto* const found = std::ranges::find(kFloats, type.kind, &Name::kind);
  return std::string(found->text);
}

/// The number of a single digit among `digits`, or nothing.
std::optional<int> digit_of(std::string_view text, std::string_view digits) {
  if (text.size() != 1 || !digits.contains(text[0])) return std::nullopt;
  return text[0] - '0';
}

KvType turbo_key(int bits) { return {.kind = CodecKind::kTurboKey, .bits = bits}; }
KvType turbo_value(int bits) {
  return {.kind = CodecKind::kTurboValue, .bits = bits, .rotation = Rotation::kSignedHadamard};
}

std::optional<KvType> parse_affine(std::string_view text) {
  if (text.size() < 2 || (text[0] != 'q' && text[0] != 'h')) return std::nullopt;
  const std::optional<int> bits = digit_of(text.substr(1, 1), kAffineBits);
  if (!bits) return std::nullopt;
  KvType type{.kind = CodecKind::kAffine,
              .bits = *bits,
              .rotation = text[0] == 'h' ? Rotation::kHadamard : Rotation::kNone};
  std::string_view group = text.substr(2);
  if (group.empty()) return type;
  if (group[0] != 'g') return std::nullopt;
  group.remove_prefix(1);
  const auto* const end = group.data() + group.size();
  const auto [stop, error] = std::from_chars(group.data(), end, type.group);
  if (error != std::errc() || stop != end || std::ranges::find(kGroups, type.group) == kGroups.end()) {
    return std::nullopt;
  }
  return type;
}

/// One type by its name; those of TurboQuant exist for one side only.
std::optional<KvType> parse_type(std::string_view text, Side side) {
  for (const Name& name : kFloats) {
    if (name.text == text) return KvType{.kind = name.kind};
  }
  if (side != Side::kBoth && text.starts_with(kTurbo)) {
    text.remove_prefix(kTurbo.size());
    const std::optional<int> bits = digit_of(text, side == Side::kKeys ? kKeyBits : kValueBits);
    if (!bits) return std::nullopt;
    return side == Side::kKeys ? turbo_key(*bits) : turbo_value(*bits);
  }
  return parse_affine(text);
}

/// "turbo:k8v3" without its "turbo:".
std::optional<KvTypes> parse_turbo_pair(std::string_view text) {
  if (text.size() != 4 || text[0] != 'k' || text[2] != 'v') return std::nullopt;
  const std::optional<int> k = digit_of(text.substr(1, 1), kKeyBits);
  const std::optional<int> v = digit_of(text.substr(3, 1), kValueBits);
  if (!k || !v) return std::nullopt;
  return KvTypes{turbo_key(*k), turbo_value(*v)};
}

std::unexpected<Error> unknown(std::string_view text, Side side) {
  std::string what = "no such type of the KV cache; choose one of " + std::string(kOrdinary);
  if (side == Side::kBoth) {
    what +=
        "; turbo:k8v3 (keys 8, 5, 4 or 2 bits, values 8, 5, 4, 3 or 2); or one for each side, as in "
        "k=h8,v=q4";
  } else if (side == Side::kKeys) {
    what += ", turbo8, turbo5, turbo4, turbo2 for keys";
  } else {
    what += ", turbo8, turbo5, turbo4, turbo3, turbo2 for values";
  }
  return fail(ErrorCode::kInvalidArgument, what, std::string(text));
}

/// "k=A,v=B", in either order.
Result<KvTypes> parse_sides(std::string_view text) {
  const size_t comma = text.find(',');
  std::string_view first = text.substr(0, comma);
  std::string_view second = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  if (first.starts_with("v=")) std::swap(first, second);
  if (!first.starts_with("k=") || !second.starts_with("v=")) {
    return fail(ErrorCode::kInvalidArgument, "a type for each side is written k=TYPE,v=TYPE, both of them",
                std::string(text));
  }
  first.remove_prefix(2);
  second.remove_prefix(2);
  const std::optional<KvType> k = parse_type(first, Side::kKeys);
  if (!k) return unknown(first, Side::kKeys);
  const std::optional<KvType> v = parse_type(second, Side::kValues);
  if (!v) return unknown(second, Side::kValues);
  return KvTypes{*k, *v};
}

const Codec* codec_for(const KvType& type, int64_t dim) {
  int64_t group = type.group;
  if (type.kind == CodecKind::kAffine && group == 0) group = dim % 64 == 0 ? 64 : 32;
  if (type.kind == CodecKind::kTurboKey || type.kind == CodecKind::kTurboValue) group = turbo::kGroup;
  const Codec* codec = find_codec(type.kind, type.bits, group);
  return codec != nullptr && codec->takes(*codec, dim) ? codec : nullptr;
}

void append(std::string& list, std::string_view item) {
  if (!list.empty()) list += ", ";
  list += item;
}

/// What can store heads of `dim` numbers instead.
std::string alternatives(const KvType& type, int64_t dim) {
  std::string list;
  if (type.kind == CodecKind::kAffine) {
    for (const int64_t group : kGroups) {
      KvType other = type;
      other.group = group;
      if (codec_for(other, dim) != nullptr) append(list, name_of(other));
    }
    if (!list.empty()) return list;
  }
  for (const Name& name : kFloats) append(list, name.text);
  if (codec_for({.kind = CodecKind::kAffine, .bits = 8}, dim) != nullptr) append(list, "q8 to q2, h8 to h2");
  if (turbo::takes_dim(dim)) append(list, "turbo");
  return list;
}

}  // namespace

Result<KvTypes> parse_kv_types(std::string_view text) {
  if (text.contains('=')) return parse_sides(text);
  if (text.starts_with("turbo:")) {
    if (const auto pair = parse_turbo_pair(text.substr(6))) return *pair;
  }
  const std::optional<KvType> type = parse_type(text, Side::kBoth);
  if (!type) return unknown(text, Side::kBoth);
  return KvTypes{*type, *type};
}

std::string to_string(const KvTypes& types) {
  if (types.k == types.v) return name_of(types.k);
  if (types.k.kind == CodecKind::kTurboKey && types.v.kind == CodecKind::kTurboValue) {
    return "turbo:k" + std::to_string(types.k.bits) + "v" + std::to_string(types.v.bits);
  }
  return "k=" + name_of(types.k) + ",v=" + name_of(types.v);
}

Result<SideCodec> resolve(const KvType& type, int64_t dim) {
  const Codec* codec = codec_for(type, dim);
  if (codec == nullptr || !takes(type.rotation, dim)) {
    return fail(ErrorCode::kInvalidArgument,
                "heads of " + std::to_string(dim) +
                    " numbers cannot be stored so; what can: " + alternatives(type, dim),
                name_of(type));
  }
  return SideCodec{codec, type.rotation};
}

}  // namespace kvern::state
