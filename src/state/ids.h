// Names of things in the state layer, as types that do not mix.
#pragma once

#include <cstdint>

namespace kvern::state {

/// One live sequence of a cache. Never reused within a cache.
enum class RowId : uint64_t {};
/// A layer that owns keys and values, counted from 0 over those layers only.
enum class LayerIndex : int32_t {};
/// 0-based index of a token in its row.
enum class Position : int64_t {};

constexpr uint64_t to_int(RowId row) { return static_cast<uint64_t>(row); }
constexpr int32_t to_int(LayerIndex layer) { return static_cast<int32_t>(layer); }
constexpr int64_t to_int(Position position) { return static_cast<int64_t>(position); }

}  // namespace kvern::state
