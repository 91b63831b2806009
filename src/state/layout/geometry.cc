#include "state/layout/geometry.h"

namespace kvern::state {

SideGeometry make_side_geometry(const Codec& codec, Rotation rotation, int64_t dim) {
  SideGeometry side{.codec = &codec, .rotation = rotation, .dim = dim};
  for (int p = 0; p < codec.planes; ++p) {
    side.record_bytes[static_cast<size_t>(p)] = codec.record_bytes(codec, p, dim);
  }
  return side;
}

}  // namespace kvern::state
