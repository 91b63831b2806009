// The keys and values of all rows of a model, as one value with transactions.
//
//   auto cache = *KvCache::create(spec, options);
//   RowId row = cache->add_row();
//   KVERN_TRY(Step step, cache->begin({{{.row = row, .tokens = n}}}));
//   for each layer: cache->append(context, layer, step, {k, v}); cache->attend(context, layer, step, {...});
//   cache->commit(std::move(step));
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "compute/context.h"
#include "state/account/memory.h"
#include "state/attend/attend.h"
#include "state/ids.h"
#include "state/layout/layout.h"
#include "state/sequence/append.h"
#include "state/sequence/group.h"
#include "state/sequence/kv_spec.h"
#include "state/sequence/row_draft.h"
#include "state/sequence/row_image.h"
#include "state/sequence/row_pin.h"
#include "state/sequence/row_shape.h"
#include "state/sequence/step.h"

namespace kvern::state {

/// A row that grows from `first` to `end` tokens, in steps of at most `step`.
struct RowGrowth {
  int64_t first = 0;
  int64_t end = 0;
  int64_t step = 1;
};

/// Owns rows. One thread. At most one step is open at a time, and rows must not be changed meanwhile
/// (checked).
class KvCache {
 public:
  /// kInvalidArgument says which layer, type or number is impossible and what is possible.
  static Result<std::unique_ptr<KvCache>> create(const KvSpec& spec, const KvOptions& options);
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;
  ~KvCache();

  /// An empty row; takes no storage.
  RowId add_row();
  /// Row operations fail with kNotFound for a row that was never added or is removed.
  Status remove_row(RowId row);
  /// Committed tokens.
  Result<int64_t> length(RowId row) const;
  /// How far back the row can be cut: 0, unless positions have left a window or precision was given up. It
  /// never falls while the row only grows.
  Result<int64_t> minimum_reusable_position(RowId row) const;
  /// Forgets all tokens from position `length` on; kInvalidArgument when the row is shorter, or below
  /// its minimum_reusable_position. An error changes nothing.
  Status truncate(RowId row, int64_t length);
  /// A new row with the same contents; they never influence each other. kExhausted changes nothing.
  Result<RowId> fork(RowId row);

  /// Removes all rows but these. kNotFound changes nothing.
  Status filter(std::span<const RowId> keep);
  /// Moves all rows of another cache of the same identity() here: their new ids, in the order of their old
  /// ones. kInvalidArgument, kExhausted: both caches are as they were.
  Result<std::vector<RowId>> merge(KvCache& from);

  /// The row outside of the cache, in the fewest bytes; it pins nothing of the cache.
  Result<RowImage> extract(RowId row) const;
  /// extract, then remove_row.
  Result<RowImage> evict(RowId row);
  /// A new row with the contents of an image, whatever layout it came from. kInvalidArgument when it belongs
  /// to a cache of another identity(), kCorrupt when it contradicts itself, kExhausted.
  Result<RowId> adopt(const RowImage& image);
  /// Everything that decides what the bytes of a row mean: sizes, windows, types and precision rule of all
  /// layers, as text. Layout, page and slack are not part of it.
  std::string identity() const;

  /// The stores that a row of a cache of this identity() has: groups of layers in the order of their first
  /// layer, the encoded form before full precision.
  std::vector<RowStore> stores() const;
  /// kNotFound as for other row operations.
  Result<RowShape> shape(RowId row) const;
  /// How far back a row of this shape can be cut, and what it holds then. kCorrupt for a shape that no row of
  /// this identity() has, kInvalidArgument for a length that it cannot be cut to.
  Result<int64_t> minimum_reusable_position(const RowShape& shape) const;
  Result<RowShape> shape_after_cut(const RowShape& shape, int64_t length) const;
  /// The row as it is now, for another thread to read. Allocates and copies nothing for a paged cache.
  Result<RowPin> pin(RowId row);
  /// Begins a row of this shape whose bytes come in pieces. kCorrupt as above; kExhausted changes nothing.
  Result<RowDraft> draft(const RowShape& shape);
  /// Gives back what pins held that are gone. begin, pin, draft and remove_row do so, too.
  void drop_released_pins();

  /// Reserves storage for the new tokens in all layers, or changes nothing: kExhausted (retryable) when
  /// memory is short, kNotFound, kInvalidArgument (a row twice, a negative number).
  Result<Step> begin(std::span<const RowAppend> rows);
  /// Encodes keys and values of one layer. Once for each layer, before attend on that layer.
  void append(compute::Context& context, LayerIndex layer, const Step& step, const AppendArgs& args);
  /// Attention of the step's queries: a token at position p sees what the layer's window and the precision
  /// rule say of positions 0..p of its row, in stored form, its own included. Any number of times after
  /// append, also with the queries of another layer or model that shares this layer's keys and values.
  /// Numerics: state/attend/attend.h.
  void attend(compute::Context& context, LayerIndex layer, const Step& step, const AttendArgs& args) const;
  /// Makes the step's tokens part of their rows.
  void commit(Step step);
  /// Keeps only the first keep[i] <= tokens of each row of the step and forgets the others.
  void commit(Step step, std::span<const int64_t> keep);
  /// Forgets the step; the rows are as before begin.
  void rollback(Step step);

  const KvSpec& spec() const { return spec_; }
  const KvOptions& options() const { return options_; }
  /// Bytes of one token in all layers, encoded.
  size_t bytes_per_token() const;
  /// Bytes that a row of so many tokens holds between steps, if it has only grown and shares nothing.
  size_t projected_bytes(int64_t tokens) const;
  /// The most that such a row holds on the way, during its steps; it may be more than at the end, as before
  /// KvPrecision::quant_start. Never falls with `end`. No more than that, except where one form grows while
  /// the other leaves a window. What a layout copies into a larger buffer (ring, padded) is counted once.
  size_t peak_bytes(const RowGrowth& growth) const;
  /// minimum_reusable_position of a row of so many tokens, if it has only grown.
  int64_t projected_minimum_reusable_position(int64_t tokens) const;
  /// Live storage of these rows; what several of them share is counted once. Of all rows it is live_bytes().
  /// kNotFound; a row that is named twice counts once.
  Result<size_t> live_bytes_of(std::span<const RowId> rows) const;
  /// Bytes of all rows: live storage (shared once), what sharing saves, and storage that waits for rows.
  /// live + slack is what was allocated.
  LayoutUsage usage() const;
  size_t live_bytes() const { return usage().live; }
  /// Bytes taken from the system, as the allocator counts them.
  size_t allocated_bytes() const { return memory_.live_bytes(); }
  /// For tests of failure: MemoryAccount::fail_after.
  void fail_allocations_after(size_t allocations = std::numeric_limits<size_t>::max()) {
    memory_.fail_after(allocations);
  }

 private:
  friend class RowDraft;
  friend class Step;
  struct Row {
    std::vector<GroupSlots> slots;  // by group
    int64_t length = 0;
  };
  struct LayerPlace {
    size_t group = 0;
    LayerIndex local{};
  };

  KvCache(KvSpec spec, KvOptions options, std::vector<KvGroup::Config> groups);
  Result<const Row*> find(RowId row) const;
  Result<Step> plan(std::span<const RowAppend> rows) const;
  Status open(const Row& row, const Growth& growth);
  void close(Step& step, std::span<const int64_t> keep);
  AttendSource source(LayerIndex layer, const Step& step) const;
  std::vector<GroupSlots> add_slots();
  void remove_slots(const std::vector<GroupSlots>& slots);
  Status check_image(const RowImage& image) const;
  Status check_shape(const RowShape& shape) const;
  Status adopt_store(const StoreImage& store, Layout& layout, const StoreSpec& spec, RowSlot slot);

  // f(group, form) for every store, in the order of stores().
  template <typename F>
  void for_stores(const F& f) const {
    for (const auto& group : groups_) {
      for (const KvForm form : {KvForm::kEncoded, KvForm::kFull}) {
        if (group->layout(form) != nullptr) f(*group, form);
      }
    }
  }

  KvSpec spec_;
  KvOptions options_;
  MemoryAccount memory_;
  std::vector<std::unique_ptr<KvGroup>> groups_;
  std::vector<LayerPlace> places_;  // by layer
  std::unordered_map<uint64_t, Row> rows_;
  std::vector<std::shared_ptr<RowPin::Core>> pins_;  // those that may still be read
  uint64_t next_row_ = 1;
  bool step_open_ = false;
};

}  // namespace kvern::state
