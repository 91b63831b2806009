// The records of some consecutive positions of one store, in one contiguous piece whose bytes do not depend
// on the layout: for each layer, keys then values, each head, each plane of the codec: one record for each
// position, ascending.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "state/layout/layout.h"
#include "state/layout/ranges.h"

namespace kvern::state {

/// Appends the runs of positions [begin, end) of a stream, which lie in one tile.
using CollectRuns = std::function<void(const StreamId& stream, int64_t begin, int64_t end, RunList& out)>;

/// `range` is held. `out` has range.size() * geometry.bytes_per_token() bytes.
void read_piece(const Geometry& geometry, const CollectRuns& collect, const PositionRange& range,
                std::byte* out);
/// The reverse; the positions have storage.
void write_piece(const Geometry& geometry, const CollectRuns& collect, const PositionRange& range,
                 const std::byte* from);
/// The piece of `range` out of the piece of `whole`, of which it is a part.
void cut_piece(const Geometry& geometry, const PositionRange& whole, std::span<const std::byte> bytes,
               const PositionRange& range, std::byte* out);

}  // namespace kvern::state
