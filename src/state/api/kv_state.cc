#include <utility>

#include "kvern/state.h"
#include "state/api/impl.h"
#include "state/sequence/plan_groups.h"

namespace kvern {
namespace {

using state::RowId;

RowId id_of(KvRow row) { return static_cast<RowId>(row); }
KvRow row_of(RowId id) { return static_cast<KvRow>(id); }

Result<state::LayoutKind> layout_of(KvLayout layout) {
  switch (layout) {
    case KvLayout::kSlab:
      return state::LayoutKind::kSlab;
    case KvLayout::kRing:
      return state::LayoutKind::kRing;
    case KvLayout::kPaged:
      return state::LayoutKind::kPaged;
    case KvLayout::kPadded:
      return state::LayoutKind::kPadded;
  }
  return fail(ErrorCode::kInvalidArgument, "no such layout; choose slab, ring, paged or padded", "layout");
}

Result<state::KvType> full_type(const std::string& name) {
  auto types = state::parse_kv_types(name);
  if (types && types->k == types->v) return types->k;
  return fail(ErrorCode::kInvalidArgument, "full precision of the KV cache is f32, f16 or bf16", name);
}

Result<state::KvOptions> options_of(const KvStateOptions& options) {
  state::KvOptions made{.page = options.page, .slack = options.slack, .budget_bytes = options.budget_bytes};
  KVERN_TRY(made.types, state::parse_kv_types(options.type));
  for (const std::string& type : options.layer_types) {
    KVERN_TRY(const state::KvTypes types, state::parse_kv_types(type));
    made.layer_types.push_back(types);
  }
  KVERN_TRY(made.layout, layout_of(options.layout));
  made.precision.quant_start = options.precision.quant_start;
  made.precision.keep_first = options.precision.keep_first;
  made.precision.keep_last = options.precision.keep_last;
  KVERN_TRY(made.precision.full, full_type(options.precision.full));
  return made;
}

state::KvSpec spec_of(const std::vector<KvLayer>& layers) {
  state::KvSpec spec;
  for (const KvLayer& layer : layers) {
    spec.layers.push_back({.kv_heads = layer.kv_heads,
                           .k_dim = layer.k_dim,
                           .v_dim = layer.v_dim,
                           .window = layer.window,
                           .sinks = layer.sinks});
  }
  return spec;
}

}  // namespace

KvState::KvState(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
KvState::KvState(KvState&&) noexcept = default;
KvState& KvState::operator=(KvState&&) noexcept = default;
KvState::~KvState() = default;

Result<KvState> KvState::create(const std::vector<KvLayer>& layers, const KvStateOptions& options) {
  KVERN_TRY(const state::KvOptions made, options_of(options));
  auto impl = std::make_shared<Impl>();
  KVERN_TRY(impl->cache, state::KvCache::create(spec_of(layers), made));
  return KvState(std::move(impl));
}

Status KvState::check_idle() const {
  if (!impl_->step_open) return Ok{};
  return fail(ErrorCode::kInvalidArgument,
              "rows cannot be changed while a step is open; commit it or roll it back first");
}

Result<KvRow> KvState::add_row() {
  KVERN_TRY_STATUS(check_idle());
  return row_of(impl_->cache->add_row());
}

Status KvState::remove_row(KvRow row) {
  KVERN_TRY_STATUS(check_idle());
  return impl_->cache->remove_row(id_of(row));
}

Result<int64_t> KvState::length(KvRow row) const { return impl_->cache->length(id_of(row)); }

Result<int64_t> KvState::minimum_reusable_position(KvRow row) const {
  return impl_->cache->minimum_reusable_position(id_of(row));
}

Status KvState::truncate(KvRow row, int64_t length) {
  KVERN_TRY_STATUS(check_idle());
  return impl_->cache->truncate(id_of(row), length);
}

Result<KvRow> KvState::fork(KvRow row) {
  KVERN_TRY_STATUS(check_idle());
  KVERN_TRY(const RowId made, impl_->cache->fork(id_of(row)));
  return row_of(made);
}

Status KvState::filter(std::span<const KvRow> keep) {
  KVERN_TRY_STATUS(check_idle());
  std::vector<RowId> ids;
  ids.reserve(keep.size());
  for (const KvRow row : keep) ids.push_back(id_of(row));
  return impl_->cache->filter(ids);
}

Result<std::vector<KvRow>> KvState::merge(KvState& from) {
  if (impl_ == from.impl_) {
    return fail(ErrorCode::kInvalidArgument, "rows cannot be merged into the state that has them");
  }
  KVERN_TRY_STATUS(check_idle());
  KVERN_TRY_STATUS(from.check_idle());
  KVERN_TRY(const std::vector<RowId> ids, impl_->cache->merge(*from.impl_->cache));
  std::vector<KvRow> rows;
  rows.reserve(ids.size());
  for (const RowId id : ids) rows.push_back(row_of(id));
  return rows;
}

Result<KvRowImage> KvState::extract(KvRow row) const {
  KVERN_TRY_STATUS(check_idle());
  KVERN_TRY(state::RowImage image, impl_->cache->extract(id_of(row)));
  return KvRowImage(std::make_unique<KvRowImage::Impl>(KvRowImage::Impl{std::move(image)}));
}

Result<KvRowImage> KvState::evict(KvRow row) {
  KVERN_TRY(KvRowImage image, extract(row));
  KVERN_TRY_STATUS(impl_->cache->remove_row(id_of(row)));
  return image;
}

Result<KvRow> KvState::adopt(const KvRowImage& image) {
  KVERN_TRY_STATUS(check_idle());
  KVERN_TRY(const RowId made, impl_->cache->adopt(image.impl_->image));
  return row_of(made);
}

Result<std::vector<std::byte>> KvState::snapshot(KvRow row) const {
  KVERN_TRY(const KvRowImage image, extract(row));
  return image.to_bytes();
}

Result<KvRow> KvState::restore(std::span<const std::byte> bytes) {
  KVERN_TRY(const KvRowImage image, KvRowImage::from_bytes(bytes));
  return adopt(image);
}

std::string KvState::identity() const { return impl_->cache->identity(); }

Result<KvStep> KvState::begin(const std::vector<KvAppend>& rows) {
  KVERN_TRY_STATUS(check_idle());
  std::vector<state::RowAppend> appends;
  appends.reserve(rows.size());
  for (const KvAppend& append : rows) appends.push_back({.row = id_of(append.row), .tokens = append.tokens});
  KVERN_TRY(state::Step step, impl_->cache->begin(appends));
  return KvStep(std::make_unique<KvStep::Impl>(impl_, std::move(step)));
}

size_t KvState::layers() const { return impl_->cache->spec().layers.size(); }
size_t KvState::bytes_per_token() const { return impl_->cache->bytes_per_token(); }

Result<size_t> KvState::projected_bytes(int64_t tokens) const {
  if (tokens >= 0 && tokens <= state::kMaxRowLength) return impl_->cache->projected_bytes(tokens);
  return fail(ErrorCode::kInvalidArgument, "a row has between 0 and 2^32 tokens", std::to_string(tokens));
}

KvUsage KvState::usage() const {
  const state::LayoutUsage usage = impl_->cache->usage();
  return {.live = usage.live, .shared = usage.shared, .slack = usage.slack};
}

size_t KvState::allocated_bytes() const { return impl_->cache->allocated_bytes(); }

}  // namespace kvern
