#include "state/sequence/kv_cache.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "state/codec/registry.h"
#include "state/sequence/append.h"

namespace kvern::state {
namespace {

// Far beyond any model; keeps products of sizes inside 64 bits.
constexpr int64_t kMaxLayers = 4096;
constexpr int64_t kMaxHeads = 65536;
constexpr int64_t kMaxDim = 65536;
constexpr int64_t kMaxLength = int64_t{1} << 32;

SideGeometry side_geometry(CodecId id, int64_t dim) {
  SideGeometry side;
  side.codec = &codec(id);
  side.dim = dim;
  side.planes = side.codec->planes;
  for (int p = 0; p < side.planes; ++p)
    side.record_bytes[static_cast<size_t>(p)] = side.codec->record_bytes(p, dim);
  return side;
}

Geometry make_geometry(const KvSpec& spec, const KvOptions& options) {
  Geometry geometry;
  for (const KvLayerSpec& layer : spec.layers) {
    geometry.layers.push_back({layer.kv_heads, side_geometry(options.k_codec, layer.k_dim),
                               side_geometry(options.v_codec, layer.v_dim)});
  }
  return geometry;
}

Status check_spec(const KvSpec& spec) {
  const auto within = [](int64_t value, int64_t most) { return value > 0 && value <= most; };
  if (!within(std::ssize(spec.layers), kMaxLayers)) {
    return fail(ErrorCode::kInvalidArgument, "the KV cache needs between 1 and 4096 layers");
  }
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const KvLayerSpec& layer = spec.layers[i];
    if (!within(layer.kv_heads, kMaxHeads) || !within(layer.k_dim, kMaxDim) ||
        !within(layer.v_dim, kMaxDim)) {
      return fail(ErrorCode::kInvalidArgument, "heads and head sizes must be positive and at most 65536",
                  "KV layer " + std::to_string(i));
    }
  }
  return Ok{};
}

std::unexpected<Error> no_such_row(RowId row) {
  return fail(ErrorCode::kNotFound, "the KV cache has no such row", "row " + std::to_string(to_int(row)));
}

}  // namespace

Step::Step(Step&& other) noexcept
    : cache_(std::exchange(other.cache_, nullptr)),
      rows_(std::move(other.rows_)),
      attend_rows_(std::move(other.attend_rows_)),
      positions_(std::move(other.positions_)) {}

Step::~Step() {
  if (cache_ != nullptr) cache_->close(*this, {});
}

Result<std::unique_ptr<KvCache>> KvCache::create(const KvSpec& spec, const KvOptions& options) {
  KVERN_TRY_STATUS(check_spec(spec));
  return std::unique_ptr<KvCache>(new KvCache(spec, options));
}

KvCache::KvCache(KvSpec spec, const KvOptions& options)
    : spec_(std::move(spec)),
      options_(options),
      geometry_(make_geometry(spec_, options)),
      memory_(options.budget_bytes),
      layout_(make_layout({.kind = options.layout, .poison = options.poison}, geometry_, memory_)) {}

KvCache::~KvCache() { KVERN_CHECK(!step_open_); }

Result<const KvCache::Row*> KvCache::find(RowId row) const {
  const auto it = rows_.find(to_int(row));
  if (it == rows_.end()) return no_such_row(row);
  return &it->second;
}

RowId KvCache::add_row() {
  KVERN_CHECK(!step_open_);
  const uint64_t id = next_row_++;
  rows_.emplace(id, Row{.slot = layout_->add_row(), .length = 0});
  return static_cast<RowId>(id);
}

Status KvCache::remove_row(RowId row) {
  KVERN_CHECK(!step_open_);
  KVERN_TRY(const Row* found, find(row));
  layout_->remove_row(found->slot);
  rows_.erase(to_int(row));
  return Ok{};
}

Result<int64_t> KvCache::length(RowId row) const {
  KVERN_TRY(const Row* found, find(row));
  return found->length;
}

Status KvCache::truncate(RowId row, int64_t length) {
  KVERN_CHECK(!step_open_);
  KVERN_TRY(const Row* found, find(row));
  if (length < 0 || length > found->length) {
    return fail(
        ErrorCode::kInvalidArgument,
        "cannot cut a row of " + std::to_string(found->length) + " tokens to " + std::to_string(length),
        "row " + std::to_string(to_int(row)));
  }
  rows_.at(to_int(row)).length = length;
  layout_->shrink(found->slot, length);
  return Ok{};
}

Result<RowId> KvCache::fork(RowId row) {
  KVERN_TRY(const Row* found, find(row));
  const RowSlot from = found->slot;
  const int64_t length = found->length;
  const RowId twin = add_row();
  Row& to = rows_.at(to_int(twin));
  if (auto copied = layout_->copy(from, to.slot, length); !copied) {
    layout_->remove_row(to.slot);
    rows_.erase(to_int(twin));
    return std::unexpected(std::move(copied).error());
  }
  to.length = length;
  return twin;
}

// The step's books, with nothing reserved yet.
Result<Step> KvCache::plan(std::span<const RowAppend> rows) const {
  Step step;
  std::unordered_set<uint64_t> seen;
  for (const RowAppend& append : rows) {
    KVERN_TRY(const Row* row, find(append.row));
    if (!seen.insert(to_int(append.row)).second || append.tokens < 0 ||
        append.tokens > kMaxLength - row->length) {
      return fail(ErrorCode::kInvalidArgument, "a step names each row once, with a possible number of tokens",
                  "row " + std::to_string(to_int(append.row)));
    }
    const int64_t offset = step.tokens();
    step.rows_.push_back({append.row, static_cast<Position>(row->length), append.tokens, offset});
    step.attend_rows_.push_back({row->slot, row->length, append.tokens, offset});
    for (int64_t i = 0; i < append.tokens; ++i) step.positions_.push_back(row->length + i);
  }
  return step;
}

Result<Step> KvCache::begin(std::span<const RowAppend> rows) {
  KVERN_CHECK(!step_open_);
  KVERN_TRY(Step step, plan(rows));
  for (size_t i = 0; i < step.attend_rows_.size(); ++i) {
    const AttendRow& row = step.attend_rows_[i];
    auto reserved = layout_->reserve(row.slot, row.first + row.tokens);
    if (reserved) continue;
    for (size_t j = 0; j < i; ++j) layout_->shrink(step.attend_rows_[j].slot, step.attend_rows_[j].first);
    return std::unexpected(std::move(reserved).error());
  }
  step.cache_ = this;
  step_open_ = true;
  return step;
}

void KvCache::append(compute::Context& context, LayerIndex layer, const Step& step, const AppendArgs& args) {
  KVERN_CHECK(step.cache_ == this);
  const auto& geometry = geometry_.layers.at(static_cast<size_t>(to_int(layer)));
  encode_step(context, {*layout_, geometry, layer, step.attend_rows_}, args);
}

void KvCache::attend(compute::Context& context, LayerIndex layer, const Step& step,
                     const AttendArgs& args) const {
  KVERN_CHECK(step.cache_ == this);
  const auto& geometry = geometry_.layers.at(static_cast<size_t>(to_int(layer)));
  state::attend(context, {*layout_, geometry, layer, step.attend_rows_}, args);
}

// Keeps the first keep[i] new tokens of row i (an empty span: none) and gives back what is not needed.
void KvCache::close(Step& step, std::span<const int64_t> keep) {
  KVERN_CHECK(step.cache_ == this && step_open_);
  for (size_t i = 0; i < step.rows_.size(); ++i) {
    const StepRow& row = step.rows_[i];
    const int64_t kept = keep.empty() ? 0 : keep[i];
    KVERN_CHECK(kept >= 0 && kept <= row.tokens);
    Row& target = rows_.at(to_int(row.row));
    target.length += kept;
    layout_->shrink(target.slot, target.length);
  }
  step.cache_ = nullptr;
  step_open_ = false;
}

void KvCache::commit(Step step) {
  std::vector<int64_t> keep;
  keep.reserve(step.rows_.size());
  for (const StepRow& row : step.rows_) keep.push_back(row.tokens);
  close(step, keep);
}

void KvCache::commit(Step step, std::span<const int64_t> keep) {
  KVERN_CHECK(keep.size() == step.rows_.size());
  close(step, keep);
}

void KvCache::rollback(Step step) { close(step, {}); }

}  // namespace kvern::state
