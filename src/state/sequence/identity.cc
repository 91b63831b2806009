#include "state/sequence/identity.h"

#include <string_view>

#include "state/sequence/kv_cache.h"

namespace kvern::state {
namespace {

std::string side_identity(const SideGeometry& side) {
  constexpr std::string_view kRotations[] = {"", "+hadamard", "+signed-hadamard"};
  return std::to_string(side.dim) + ":" + std::string(side.codec->name) +
         std::string(kRotations[static_cast<size_t>(side.rotation)]);
}

}  // namespace

std::string layer_identity(const KvGroup& group, size_t local) {
  const LayerGeometry& layer = group.geometry(KvForm::kEncoded).layers[local];
  const KvView& view = group.view();
  std::string text = "heads=" + std::to_string(layer.kv_heads) + " k=" + side_identity(layer.key) +
                     " v=" + side_identity(layer.value);
  if (view.window != 0) {
    text += " window=" + std::to_string(view.window) + " sinks=" + std::to_string(view.sinks);
  }
  if (view.mixed) {
    text += " full=" + std::string(group.geometry(KvForm::kFull).layers[local].key.codec->name) +
            " start=" + std::to_string(view.quant_start) + " first=" + std::to_string(view.keep_first) +
            " last=" + std::to_string(view.keep_last);
  }
  return text;
}

std::string store_text(const KvGroup& group, KvForm form) {
  const auto line = [&](size_t i) {
    const LayerGeometry& layer = group.geometry(form).layers[i];
    return "heads=" + std::to_string(layer.kv_heads) + " k=" + side_identity(layer.key) +
           " v=" + side_identity(layer.value) + "\n";
  };
  const std::vector<int32_t>& layers = group.layers();
  std::string text;
  for (size_t first = 0; first < layers.size();) {
    size_t last = first;
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1 && line(last + 1) == line(first))
      ++last;
    text += "layers=" + std::to_string(layers[first]);
    if (last > first) text += "-" + std::to_string(layers[last]);
    text += " " + line(first);
    first = last + 1;
  }
  return text;
}

std::string KvCache::identity() const {
  std::string text;
  for (size_t i = 0; i < places_.size(); ++i) {
    const LayerPlace& place = places_[i];
    text += layer_identity(*groups_[place.group], static_cast<size_t>(to_int(place.local))) + "\n";
  }
  return text;
}

}  // namespace kvern::state
