#include "state/sequence/plan_groups.h"

#include <string>

namespace kvern::state {
namespace {

// Far beyond any model; keeps products of sizes inside 64 bits.
constexpr int64_t kMaxLayers = 4096;
constexpr int64_t kMaxHeads = 65536;
constexpr int64_t kMaxDim = 65536;

std::string layer_name(size_t i) { return "KV layer " + std::to_string(i); }

Status check_layer(const KvLayerSpec& layer, size_t index) {
  const auto within = [](int64_t value, int64_t least, int64_t most) {
    return value >= least && value <= most;
  };
  if (!within(layer.kv_heads, 1, kMaxHeads) || !within(layer.k_dim, 1, kMaxDim) ||
      !within(layer.v_dim, 1, kMaxDim)) {
    return fail(ErrorCode::kInvalidArgument, "heads and head sizes must be between 1 and 65536",
                layer_name(index));
  }
  if (!within(layer.window, 0, kMaxRowLength) || !within(layer.sinks, 0, kMaxRowLength)) {
    return fail(ErrorCode::kInvalidArgument, "windows and sinks must be between 0 and 2^32",
                layer_name(index));
  }
  return Ok{};
}

Status check(const KvSpec& spec, const KvOptions& options) {
  if (spec.layers.empty() || std::ssize(spec.layers) > kMaxLayers) {
    return fail(ErrorCode::kInvalidArgument, "the KV cache needs between 1 and 4096 layers");
  }
  for (size_t i = 0; i < spec.layers.size(); ++i) KVERN_TRY_STATUS(check_layer(spec.layers[i], i));
  if (!options.layer_types.empty() && options.layer_types.size() != spec.layers.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "types are given for " + std::to_string(options.layer_types.size()) + " of " +
                    std::to_string(spec.layers.size()) + " KV layers; give one for each");
  }
  const KvPrecision& precision = options.precision;
  const auto possible = [](int64_t n) { return n >= 0 && n <= kMaxRowLength; };
  if (!possible(precision.quant_start) || !possible(precision.keep_first) || !possible(precision.keep_last)) {
    return fail(ErrorCode::kInvalidArgument,
                "numbers of positions in full precision must be between 0 and 2^32");
  }
  KVERN_TRY_STATUS(check_page(options.page));
  if (!possible(options.slack)) {
    return fail(ErrorCode::kInvalidArgument,
                "the slack of the KV cache must be between 0 and 2^32 positions");
  }
  return Ok{};
}

Result<SideGeometry> side(const KvType& type, int64_t dim) {
  KVERN_TRY(const SideCodec resolved, resolve(type, dim));
  return make_side_geometry(*resolved.codec, resolved.rotation, dim);
}

// The layer in encoded and in full precision; the latter behind the same rotations, so that one query fits
// both.
Result<std::pair<LayerGeometry, LayerGeometry>> geometries(const KvLayerSpec& layer, const KvTypes& types,
                                                           const KvType& full) {
  KVERN_TRY(const SideGeometry key, side(types.k, layer.k_dim));
  KVERN_TRY(const SideGeometry value, side(types.v, layer.v_dim));
  KVERN_TRY(const SideCodec k_full, resolve(full, layer.k_dim));
  KVERN_TRY(const SideCodec v_full, resolve(full, layer.v_dim));
  return std::pair{LayerGeometry{layer.kv_heads, key, value},
                   LayerGeometry{layer.kv_heads, make_side_geometry(*k_full.codec, key.rotation, layer.k_dim),
                                 make_side_geometry(*v_full.codec, value.rotation, layer.v_dim)}};
}

KvView view_of(const KvLayerSpec& layer, const KvPrecision& precision, bool mixed) {
  // A window that holds the sinks for ever and one without are told apart by the window only.
  KvView view{.window = layer.window, .sinks = layer.window == 0 ? 0 : layer.sinks, .mixed = mixed};
  if (mixed) {
    view.quant_start = precision.quant_start;
    view.keep_first = precision.keep_first;
    view.keep_last = precision.keep_last;
  }
  return view;
}

KvGroup::Config& group_for(std::vector<KvGroup::Config>& groups, const KvView& view) {
  for (KvGroup::Config& group : groups) {
    if (group.view.window == view.window && group.view.sinks == view.sinks &&
        group.view.mixed == view.mixed) {
      return group;
    }
  }
  groups.push_back({.view = view, .layers = {}, .encoded = {}, .full = {}});
  return groups.back();
}

}  // namespace

Result<std::vector<KvGroup::Config>> plan_groups(const KvSpec& spec, const KvOptions& options) {
  KVERN_TRY_STATUS(check(spec, options));
  if (is_encoded(options.precision.full)) {
    return fail(ErrorCode::kInvalidArgument, "full precision of the KV cache is f32, f16 or bf16");
  }
  std::vector<KvGroup::Config> groups;
  bool any_mixed = false;
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const KvTypes& types = options.layer_types.empty() ? options.types : options.layer_types[i];
    auto made = geometries(spec.layers[i], types, options.precision.full);
    if (!made) {
      Error error = std::move(made).error();
      error.where = layer_name(i) + ", " + to_string(types) +
                    (types.k == types.v ? std::string() : " (" + error.where + ")");
      return std::unexpected(std::move(error));
    }
    const bool mixed = options.precision.mixed() && (is_encoded(types.k) || is_encoded(types.v));
    any_mixed |= mixed;
    KvGroup::Config& group = group_for(groups, view_of(spec.layers[i], options.precision, mixed));
    group.layers.push_back(static_cast<int32_t>(i));
    group.encoded.layers.push_back(made->first);
    if (mixed) group.full.layers.push_back(made->second);
  }
  if (options.precision.mixed() && !any_mixed) {
    return fail(ErrorCode::kInvalidArgument,
                "positions can be kept in full precision only beside an encoded type such as q8 or h4",
                to_string(options.types));
  }
  return groups;
}

}  // namespace kvern::state
