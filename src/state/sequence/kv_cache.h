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
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "compute/context.h"
#include "state/account/memory.h"
#include "state/attend/attend.h"
#include "state/codec/codec.h"
#include "state/ids.h"
#include "state/layout/layout.h"
#include "state/sequence/step.h"

namespace kvern::state {

/// Sizes of one layer that owns keys and values. Head sizes need not be multiples of anything.
struct KvLayerSpec {
  int64_t kv_heads = 0;
  int64_t k_dim = 0;
  int64_t v_dim = 0;
};

struct KvSpec {
  std::vector<KvLayerSpec> layers;
};

struct KvOptions {
  CodecId k_codec = CodecId::kF16;
  CodecId v_codec = CodecId::kF16;
  LayoutKind layout = LayoutKind::kSlab;
  size_t budget_bytes = 0;  ///< 0 = no limit
  bool poison = false;      ///< LayoutOptions::poison
};

/// New keys and values of one layer for all tokens of a step; the keys are already rotated. Strides are
/// floats from token to token, 0 = dense. Borrowed for the call.
struct AppendArgs {
  const float* k = nullptr;  ///< [tokens, kv_heads, k_dim]
  const float* v = nullptr;  ///< [tokens, kv_heads, v_dim]
  int64_t k_stride = 0;
  int64_t v_stride = 0;
};

/// Owns rows. One thread. At most one step is open at a time, and rows must not be changed meanwhile
/// (checked).
class KvCache {
 public:
  /// kInvalidArgument when a size is not positive or absurd.
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
  /// Forgets all tokens from position `length` on; kInvalidArgument when the row is shorter.
  Status truncate(RowId row, int64_t length);
  /// A new row with the same contents; they never influence each other. kExhausted changes nothing.
  Result<RowId> fork(RowId row);

  /// Reserves storage for the new tokens in all layers, or changes nothing: kExhausted (retryable) when
  /// memory is short, kNotFound, kInvalidArgument (a row twice, a negative number).
  Result<Step> begin(std::span<const RowAppend> rows);
  /// Encodes keys and values of one layer. Once for each layer, before attend on that layer.
  void append(compute::Context& context, LayerIndex layer, const Step& step, const AppendArgs& args);
  /// Causal attention of the step's queries: a token at position p sees positions 0..p of its row, in encoded
  /// form, its own included. Any number of times after append. Numerics: state/attend/attend.h.
  void attend(compute::Context& context, LayerIndex layer, const Step& step, const AttendArgs& args) const;
  /// Makes the step's tokens part of their rows.
  void commit(Step step);
  /// Keeps only the first keep[i] <= tokens of each row of the step and forgets the others.
  void commit(Step step, std::span<const int64_t> keep);
  /// Forgets the step; the rows are as before begin.
  void rollback(Step step);

  const KvSpec& spec() const { return spec_; }
  const KvOptions& options() const { return options_; }
  /// Encoded bytes of one token in all layers.
  size_t bytes_per_token() const { return geometry_.bytes_per_token(); }
  /// Bytes that a row of so many tokens holds between steps (storage is taken in chunks).
  size_t projected_bytes(int64_t tokens) const { return layout_->row_bytes(tokens); }
  /// Bytes of all rows; between steps the sum of projected_bytes of their lengths, and always what was
  /// allocated.
  size_t live_bytes() const { return memory_.live_bytes(); }

 private:
  friend class Step;
  struct Row {
    RowSlot slot{};
    int64_t length = 0;
  };

  KvCache(KvSpec spec, const KvOptions& options);
  Result<const Row*> find(RowId row) const;
  Result<Step> plan(std::span<const RowAppend> rows) const;
  void close(Step& step, std::span<const int64_t> keep);

  KvSpec spec_;
  KvOptions options_;
  Geometry geometry_;
  MemoryAccount memory_;
  std::unique_ptr<Layout> layout_;
  std::unordered_map<uint64_t, Row> rows_;
  uint64_t next_row_ = 1;
  bool step_open_ = false;
};

}  // namespace kvern::state
