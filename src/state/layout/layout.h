// A layout: where the positions of a row lie in memory. It answers with runs of consecutive records and knows
// nothing of what they mean; kernels see only runs.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "state/account/memory.h"
#include "state/codec/codec.h"
#include "state/ids.h"
#include "state/layout/geometry.h"

namespace kvern::state {

enum class LayoutKind : uint8_t { kSlab };

/// Index of a row's storage inside a layout; reused after release.
enum class RowSlot : uint32_t {};

/// One head of one side of one layer.
struct StreamId {
  LayerIndex layer{};
  int64_t kv_head = 0;
  KvSide side = KvSide::kKey;
};

/// Storage of all rows and layers of one cache. One thread changes it; `run` may be called by many threads
/// meanwhile no one changes it.
class Layout {
 public:
  virtual ~Layout() = default;

  virtual RowSlot add_row() = 0;
  /// Gives back all storage of the row.
  virtual void remove_row(RowSlot slot) = 0;

  /// Makes storage for positions [0, length) of the row in all layers. kExhausted leaves the row as it was.
  virtual Status reserve(RowSlot slot, int64_t length) = 0;
  /// Gives back what positions [0, length) do not need. The bytes of those positions stay as they are.
  virtual void shrink(RowSlot slot, int64_t length) = 0;
  /// Copies positions [0, length) of `from` to the empty row `to`. kExhausted leaves `to` empty.
  virtual Status copy(RowSlot from, RowSlot to, int64_t length) = 0;

  /// The longest run that starts at position `begin` and ends at or before `end`, begin < end <= reserved
  /// length.
  virtual EncodedRun run(RowSlot slot, const StreamId& stream, int64_t begin, int64_t end) const = 0;

  /// Bytes that a row of `length` positions holds between steps.
  virtual size_t row_bytes(int64_t length) const = 0;
};

struct LayoutOptions {
  LayoutKind kind = LayoutKind::kSlab;
  /// Fills storage that holds no position with 0xff bytes (NaN in every float format), so that a read of it
  /// shows. For tests; costs time.
  bool poison = false;
};

/// `account` outlives the layout.
std::unique_ptr<Layout> make_layout(const LayoutOptions& options, const Geometry& geometry,
                                    MemoryAccount& account);

}  // namespace kvern::state
