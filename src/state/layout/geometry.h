// What one position of one row occupies: the planes of keys and values of every layer, in bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "state/codec/codec.h"
#include "state/codec/rotation.h"

namespace kvern::state {

enum class KvSide : uint8_t { kKey, kValue };

/// One layer's keys or values.
struct SideGeometry {
  const Codec* codec = nullptr;
  Rotation rotation = Rotation::kNone;
  int64_t dim = 0;                                ///< of one head
  std::array<size_t, kMaxPlanes> record_bytes{};  ///< of one head and position, in each plane of the codec

  int planes() const { return codec->planes; }
  VectorShape shape() const { return codec->shape(dim); }
  size_t bytes() const {
    size_t sum = 0;
    for (int p = 0; p < planes(); ++p) sum += record_bytes[static_cast<size_t>(p)];
    return sum;
  }
};

/// `codec` takes `dim`.
SideGeometry make_side_geometry(const Codec& codec, Rotation rotation, int64_t dim);

struct LayerGeometry {
  int64_t kv_heads = 0;
  SideGeometry key;
  SideGeometry value;

  const SideGeometry& side(KvSide s) const { return s == KvSide::kKey ? key : value; }
  size_t bytes_per_token() const { return static_cast<size_t>(kv_heads) * (key.bytes() + value.bytes()); }
};

struct Geometry {
  std::vector<LayerGeometry> layers;

  size_t bytes_per_token() const {
    size_t sum = 0;
    for (const LayerGeometry& layer : layers) sum += layer.bytes_per_token();
    return sum;
  }
};

}  // namespace kvern::state
