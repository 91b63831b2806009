#include "engine/loop/row_storage.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"

namespace kvern::engine {
namespace {

// Bounds the logits of a chunk when all of them are wanted.
constexpr size_t kMostLogitBytes = size_t{64} << 20;

std::unique_ptr<Tiers> make_tiers(const Tiers::Parts& parts, const TierOptions& options) {
  return options.tiers.empty() ? nullptr : std::make_unique<Tiers>(parts, options);
}

PrefixOptions prefix_options(const Engine& engine, PrefixOptions options) {
  options.context_tokens = engine.context_tokens();
  return options;
}

}  // namespace

Projection projection_of(const state::KvCache& kv) {
  return {.peak = [&kv](int64_t first, int64_t end) { return kv.peak_bytes({.first = first, .end = end}); },
          .quant_start = kv.options().precision.quant_start};
}

RowStorage::RowStorage(Engine& engine, const Clock& clock, const LoopOptions& options)
    : engine_(engine),
      kv_(engine.kv()),
      tiers_(make_tiers({.kv = kv_, .prefixes = prefixes_, .clock = clock}, options.tiers)),
      prefixes_(engine.kv(), prefix_options(engine, options.prefix)),
      keep_latest_only_(options.keep_latest_only) {
  if (tiers_ != nullptr) prefixes_.observe(&tiers_->writes());
}

// Log-probabilities of the prompt need its logits, so all of it is computed.
bool RowStorage::shares(const Row& row) const {
  const ServiceRequest& spec = row.request->spec;
  return spec.reuse_prefix && !spec.prompt_logprobs;
}

Status RowStorage::take(Row& row, std::span<Row* const> running) {
  KVERN_CHECK(!row.kv && !row.image);
  if (!shares(row)) {
    row.kv = kv_.add_row();
    return Ok{};
  }
  announce_all(row, running);
  KVERN_TRY(const PrefixCache::Hit hit, prefixes_.take(row.request->spec.cache_namespace, row.tokens));
  row.kv = hit.row;
  row.held = hit.tokens;
  row.shares_end = true;
  return Ok{};
}

int64_t RowStorage::usable_tokens(const Row& row, std::span<Row* const> running) {
  if (!shares(row)) return 0;
  announce_all(row, running);
  return prefixes_.usable(row.request->spec.cache_namespace, row.tokens);
}

bool RowStorage::keep_restored(const PrefixRestore& restore, const store::RowRestore::Row& made) {
  if (!prefixes_.fits(made.row)) return false;
  const auto tokens = restore.tokens().first(static_cast<size_t>(made.tokens));
  const auto entry = prefixes_.put(restore.name_space(), {tokens.begin(), tokens.end()}, made.row);
  if (entry) tiers_->writes().set_safe(*entry);
  return true;
}

void RowStorage::remove(state::RowId row) { KVERN_CHECK(kv_.remove_row(row).has_value()); }

// Only when a row asks is it of interest what the others hold: a step needs not say it.
void RowStorage::announce_all(const Row& row, std::span<Row* const> running) {
  for (const Row* other : running) {
    if (other->request->spec.cache_namespace == row.request->spec.cache_namespace) announce(*other);
  }
}

void RowStorage::announce(const Row& row) {
  const ServiceRequest& spec = row.request->spec;
  if (spec.reuse_prefix && row.kv) prefixes_.running(spec.cache_namespace, *row.kv, row.held_tokens());
}

void RowStorage::has_grown(const Row& row) {
  const ServiceRequest& spec = row.request->spec;
  if (spec.reuse_prefix && row.held <= row.prompt_tokens)
    prefixes_.snapshot(spec.cache_namespace, *row.kv, spec.generate.prompt);
}

void RowStorage::release(Row& row, AfterRow after) {
  set_image(row, nullptr);
  if (!row.kv) return;
  const state::RowId id = *std::exchange(row.kv, std::nullopt);
  if (after == AfterRow::kKeep && row.request->spec.reuse_prefix && row.held > 0) {
    while (keep_latest_only_ && evict_prefix()) {
    }
    const auto tokens = row.held_tokens();
    prefixes_.put(row.request->spec.cache_namespace, {tokens.begin(), tokens.end()}, id);
    return;
  }
  prefixes_.forget_running(id);
  remove(id);
}

void RowStorage::hand_over(Row& from, Row& to) {
  KVERN_CHECK(!to.kv && !to.image);
  to.kv = std::exchange(from.kv, std::nullopt);
  to.held = from.held;
}

Status RowStorage::fork(Row& from, std::span<Row* const> to, const std::function<bool()>& give_way) try {
  Status status = Ok{};
  for (Row* row : to) {
    if (status) status = fork_one(from, *row, give_way);
  }
  set_image(from, nullptr);
  return status;
} catch (const std::bad_alloc&) {
  return fail(ErrorCode::kExhausted, "there is no memory for the choices of a prompt");
}

Status RowStorage::fork_one(Row& from, Row& to, const std::function<bool()>& give_way) {
  KVERN_CHECK(from.kv && !to.kv && !to.image);
  to.held = from.held;
  auto forked = kv_.fork(*from.kv);
  while (!forked && forked.error().code == ErrorCode::kExhausted && (evict_prefix() || give_way()))
    forked = kv_.fork(*from.kv);
  if (forked) {
    to.kv = *forked;
    to.shares_end = true;
    return Ok{};
  }
  if (forked.error().code != ErrorCode::kExhausted) return std::unexpected(std::move(forked).error());
  if (!from.image) {
    KVERN_TRY(state::RowImage image, kv_.extract(*from.kv));
    set_image(from, std::make_shared<const state::RowImage>(std::move(image)));
  }
  set_image(to, from.image);
  return Ok{};
}

Status RowStorage::move_out(Row& row) try {
  KVERN_CHECK(row.kv && !row.image);
  KVERN_TRY(state::RowImage image, kv_.extract(*row.kv));
  set_image(row, std::make_shared<const state::RowImage>(std::move(image)));
  prefixes_.forget_running(*row.kv);
  KVERN_TRY_STATUS(kv_.remove_row(*row.kv));
  row.kv.reset();
  return Ok{};
} catch (const std::bad_alloc&) {
  return fail(ErrorCode::kExhausted, "there is no memory for a row outside of the cache");
}

Status RowStorage::bring_in(Row& row) try {
  KVERN_CHECK(!row.kv && row.image);
  KVERN_TRY(row.kv, kv_.adopt(*row.image));
  set_image(row, nullptr);
  return Ok{};
} catch (const std::bad_alloc&) {
  return fail(ErrorCode::kExhausted, "there is no memory to bring a row back");
}

Status RowStorage::compact(Row& row) {
  KVERN_TRY_STATUS(move_out(row));
  return bring_in(row);
}

void RowStorage::start_over(Row& row) {
  const state::RowId former = *std::exchange(row.kv, kv_.add_row());
  prefixes_.forget_running(former);
  remove(former);
  row.held = 0;
}

void RowStorage::forget(const Row& row, int64_t doubted) {
  prefixes_.forget(row.request->spec.cache_namespace,
                   std::span(row.tokens).first(static_cast<size_t>(doubted)));
}

void RowStorage::distrust(const Row& row, int64_t doubted) {
  if (tiers_ == nullptr) return;
  tiers_->distrust(row.request->spec.cache_namespace,
                   std::span(row.tokens).first(static_cast<size_t>(doubted)));
}

void RowStorage::set_image(Row& row, std::shared_ptr<const state::RowImage> image) {
  if (row.image && row.image.use_count() == 1) outside_bytes_ -= row.image->bytes();
  if (image && image.use_count() == 1) outside_bytes_ += image->bytes();
  row.image = std::move(image);
}

int64_t RowStorage::end_of(const Row& row, Growth growth) const {
  if (growth == Growth::kNone) return row.held;
  const Request& request = *row.request;
  const int64_t prompt = request.prompt_tokens();
  const int64_t end = final_tokens({.prompt_tokens = prompt,
                                    .max_new_tokens = request.spec.generate.max_new_tokens,
                                    .context_tokens = engine_.context_tokens()});
  if (growth == Growth::kEnd) return std::max(end, row.held);
  // A replay is computed behind the prompt.
  const int64_t known = in_prefill(row) ? std::ssize(row.tokens) : prompt;
  return std::min(end, std::max(known, row.held) + kHeadroomTokens);
}

size_t RowStorage::growth_bytes(const Row& row, Growth growth) const {
  const int64_t end = end_of(row, growth);
  size_t bytes = kv_.peak_bytes({.first = row.held, .end = end}) - kv_.projected_bytes(row.held);
  if (const int64_t more = places_of(row) - 1; more > 0) {
    bytes += static_cast<size_t>(more) * choice_bytes(*row.request, end);
  }
  return bytes;
}

// Full pages of the prompt are shared by forks; other layouts copy.
size_t RowStorage::choice_bytes(const Request& request, int64_t end) const {
  const bool pages = kv_.options().layout == state::LayoutKind::kPaged;
  const int64_t prompt = request.prompt_tokens();
  const int64_t shared = pages ? prompt - prompt % kv_.options().page : 0;
  return own_bytes(projection_of(kv_), std::min(shared, end), end);
}

// The last page of each store, which is copied when it is written.
size_t RowStorage::copied_bytes(const Row& row) const {
  const bool pages = kv_.options().layout == state::LayoutKind::kPaged;
  return pages && row.shares_end && row.held % kv_.options().page != 0 ? kv_.projected_bytes(1) : 0;
}

size_t RowStorage::growth_bytes(const Row& row) const { return growth_bytes(row, Growth::kSoon); }

size_t RowStorage::image_bytes(const Row& row) const {
  return kv_.projected_bytes(row.held) + growth_bytes(row, Growth::kSoon);
}

size_t RowStorage::standing_bytes(const Row& row, Growth growth) const {
  return static_cast<size_t>(places_of(row)) *
         kv_.peak_bytes({.first = row.held, .end = end_of(row, growth)});
}

size_t RowStorage::final_bytes(const Request& request) const {
  const int64_t end = final_tokens({.prompt_tokens = request.prompt_tokens(),
                                    .max_new_tokens = request.spec.generate.max_new_tokens,
                                    .context_tokens = engine_.context_tokens()});
  return kv_.peak_bytes({.end = end}) +
         static_cast<size_t>(request.spec.choices - 1) * choice_bytes(request, end);
}

bool RowStorage::all_fit(std::span<Row* const> running, std::span<Row* const> others) const {
  MemoryView memory{.budget_bytes = kv_.options().budget_bytes, .live_bytes = kv_.live_bytes()};
  std::vector<state::RowId> ids;
  for (const Row* row : running) {
    memory.growth_bytes += growth_bytes(*row, Growth::kEnd) + copied_bytes(*row);
    ids.push_back(*row->kv);
  }
  for (const Row* row : others)
    memory.growth_bytes += kv_.projected_bytes(row->held) + growth_bytes(*row, Growth::kEnd);
  if (room_for(0, memory) == Room::kFree) return true;
  if (prefixes_.stats().entries == 0) return false;
  memory.kept_bytes = kept_bytes(ids);
  return room_for(0, memory) != Room::kNone;
}

Room RowStorage::room_for_row(const Row& row, size_t bytes, std::span<Row* const> running) const {
  MemoryView memory{.budget_bytes = kv_.options().budget_bytes};
  if (memory.budget_bytes == 0) return Room::kFree;
  memory.live_bytes = kv_.live_bytes();
  for (const Row* other : running) memory.growth_bytes += growth_bytes(*other);
  const Room room = engine::room_for(bytes, memory);
  if (room == Room::kFree || prefixes_.stats().entries == 0) return room;
  std::vector<state::RowId> ids;
  for (const Row* other : running) ids.push_back(*other->kv);
  if (row.kv) ids.push_back(*row.kv);
  memory.kept_bytes = kept_bytes(ids);
  return engine::room_for(bytes, memory);
}

// What removing all kept prefixes would free beside these rows.
size_t RowStorage::kept_bytes(std::span<const state::RowId> used) const {
  const auto in_use = kv_.live_bytes_of(used);
  KVERN_CHECK(in_use.has_value());
  if (tiers_ == nullptr) return kv_.live_bytes() - *in_use;
  // Rows that come from tiers or are being saved there stay, whatever is removed.
  std::vector<state::RowId> all = prefixes_.rows();
  all.insert(all.end(), used.begin(), used.end());
  return *kv_.live_bytes_of(all) - *in_use;
}

int64_t RowStorage::chunk_limit(const Row& row) const {
  const ServiceRequest& spec = row.request->spec;
  int64_t limit = row.pending_tokens();
  if (spec.prompt_logprobs) {
    const size_t each = static_cast<size_t>(engine_.model().config().vocab) * sizeof(float);
    limit = std::min(limit, std::max<int64_t>(1, static_cast<int64_t>(kMostLogitBytes / each)));
  }
  if (spec.reuse_prefix && row.held < row.prompt_tokens) {
    limit =
        std::min(limit, prefixes_.chunk_end(spec.cache_namespace, spec.generate.prompt, row.held) - row.held);
  }
  return limit;
}

}  // namespace kvern::engine
