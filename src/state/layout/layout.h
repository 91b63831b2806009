// A layout: where the positions of a row lie in memory. It answers with runs of consecutive records and knows
// nothing of what they mean; kernels see only runs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "state/account/memory.h"
#include "state/codec/codec.h"
#include "state/ids.h"
#include "state/layout/geometry.h"

namespace kvern::state {

enum class LayoutKind : uint8_t { kSlab, kRing, kPaged, kPadded };

/// "slab", "ring", "paged", "padded".
std::string_view to_string(LayoutKind kind);
/// What to_string gives; kInvalidArgument names the possible ones.
Result<LayoutKind> parse_layout(std::string_view text);

/// Index of a row's storage inside a layout; reused after release.
enum class RowSlot : uint32_t {};

/// One head of one side of one layer of the store.
struct StreamId {
  LayerIndex layer{};
  int64_t kv_head = 0;
  KvSide side = KvSide::kKey;
};

/// What a layout stores: some layers whose rows hold the same positions. A row of `length` positions holds
/// [origin, head_end) and [tail_begin, length), as far as these are below its length.
struct StoreSpec {
  Geometry geometry;
  int64_t origin = 0;    ///< no row holds a position before it
  int64_t head_end = 0;  ///< positions in [origin, head_end) are never dropped; at least origin
  /// Positions of the tail that a row keeps between steps, for layouts of fixed capacity; 0 = all of them.
  int64_t tail = 0;
};

/// How much of a row is held. origin <= tail_begin; a tail_begin at or before head_end means that nothing was
/// dropped.
struct Held {
  int64_t tail_begin = 0;
  int64_t length = 0;
  bool operator==(const Held&) const = default;
};

/// Runs of one tile, in position order.
class RunList {
 public:
  /// Pages have at least 16 positions, and a ring or a head begins at most one more run each.
  static constexpr size_t kCapacity = 8;

  void clear() { size_ = 0; }
  void push(const EncodedRun& run) { runs_[size_++] = run; }
  operator EncodedRuns() const { return {runs_.data(), size_}; }
  bool empty() const { return size_ == 0; }
  std::span<EncodedRun> runs() { return {runs_.data(), size_}; }

 private:
  std::array<EncodedRun, kCapacity> runs_;
  size_t size_ = 0;
};

/// Bytes of all rows of a layout.
struct LayoutUsage {
  size_t live = 0;    ///< storage that belongs to rows; what several rows share is counted once
  size_t shared = 0;  ///< what the sharing saves: bytes that rows use beyond `live`
  size_t slack = 0;   ///< storage that belongs to no row and waits for the next
  /// live + slack is what the account gave.
};

/// What a row held at one moment. Its contents may be read by any thread while the layout changes; made and
/// destroyed by the layout's thread, before the layout.
class PinnedRow {
 public:
  virtual ~PinnedRow() = default;
  /// As Layout::collect.
  virtual void collect(const StreamId& stream, int64_t begin, int64_t end, RunList& out) const = 0;
};

/// Storage of all rows of one store. One thread changes it; const functions may be called by many threads
/// while no one changes it.
class Layout {
 public:
  virtual ~Layout() = default;

  /// An empty row; takes no storage.
  virtual RowSlot add_row() = 0;
  /// Gives back all storage of the row.
  virtual void remove_row(RowSlot slot) = 0;

  /// Makes storage for positions up to `length` >= the row's; what is held stays as it is. The new positions
  /// may be written: what other rows share is copied before. kExhausted leaves the row as it was.
  virtual Status extend(RowSlot slot, int64_t length) = 0;
  /// Makes storage for all that `held` names, in an empty row; contents undefined. kExhausted leaves it
  /// empty.
  virtual Status assign(RowSlot slot, const Held& held) = 0;
  /// Forgets the positions from `length` <= the row's on. A row cut to 0 is as new.
  virtual void cut(RowSlot slot, int64_t length) = 0;
  /// Forgets positions in [head_end, tail_begin), tail_begin <= the row's length. Never goes back.
  virtual void drop(RowSlot slot, int64_t tail_begin) = 0;
  /// Gives the empty row `to` what `from` holds; they never influence each other. kExhausted leaves `to`
  /// empty.
  virtual Status fork(RowSlot from, RowSlot to) = 0;

  /// Keeps what the row holds now from being changed or given back, without a copy; null where the layout
  /// cannot.
  virtual std::unique_ptr<PinnedRow> pin(RowSlot /*slot*/) { return nullptr; }

  virtual Held held(RowSlot slot) const = 0;
  /// Appends the runs of held positions [begin, end), begin < end, all inside one tile.
  virtual void collect(RowSlot slot, const StreamId& stream, int64_t begin, int64_t end,
                       RunList& out) const = 0;

  /// Bytes of storage of a row that holds so much, when it shares nothing and no step is open.
  virtual size_t row_bytes(const Held& held) const = 0;
  virtual LayoutUsage usage() const = 0;
  /// Of usage().live, what these rows hold; what several of them share is counted once. Each row once.
  virtual size_t live_bytes(std::span<const RowSlot> slots);
};

struct LayoutOptions {
  LayoutKind kind = LayoutKind::kSlab;
  int64_t page = 64;  ///< positions of a page: 16, 32, 64, 128 or 256; for kPaged
  /// Fills storage that holds no position with 0xff bytes (NaN in every codec), so that a read of it shows;
  /// what extend() and assign() add is filled so, too. For tests; costs time.
  bool poison = false;
};

/// kInvalidArgument for a page size that LayoutOptions::page does not take.
Status check_page(int64_t page);

/// `account` outlives the layout. check_page(options.page) holds for kPaged.
std::unique_ptr<Layout> make_layout(const LayoutOptions& options, StoreSpec spec, MemoryAccount& account);

}  // namespace kvern::state
