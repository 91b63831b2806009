#include "state/sequence/kv_cache.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "state/planted_fault.h"
#include "state/sequence/plan_groups.h"

namespace kvern::state {
namespace {

std::string name_of(RowId row) { return "row " + std::to_string(to_int(row)); }

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
  KVERN_TRY(std::vector<KvGroup::Config> groups, plan_groups(spec, options));
  return std::unique_ptr<KvCache>(new KvCache(spec, options, std::move(groups)));
}

KvCache::KvCache(KvSpec spec, KvOptions options, std::vector<KvGroup::Config> groups)
    : spec_(std::move(spec)),
      options_(std::move(options)),
      memory_(options_.budget_bytes),
      places_(spec_.layers.size()) {
  for (KvGroup::Config& config : groups) {
    for (size_t i = 0; i < config.layers.size(); ++i) {
      places_[static_cast<size_t>(config.layers[i])] = {groups_.size(), static_cast<LayerIndex>(i)};
    }
    groups_.push_back(std::make_unique<KvGroup>(std::move(config), options_, memory_));
  }
}

KvCache::~KvCache() {
  KVERN_CHECK(!step_open_);
  drop_released_pins();
  KVERN_CHECK(pins_.empty());
}

Result<const KvCache::Row*> KvCache::find(RowId row) const {
  const auto it = rows_.find(to_int(row));
  if (it == rows_.end()) return fail(ErrorCode::kNotFound, "the KV cache has no such row", name_of(row));
  return &it->second;
}

std::vector<GroupSlots> KvCache::add_slots() {
  std::vector<GroupSlots> slots;
  slots.reserve(groups_.size());
  for (const auto& group : groups_) slots.push_back(group->add_row());
  return slots;
}

void KvCache::remove_slots(const std::vector<GroupSlots>& slots) {
  for (size_t g = 0; g < groups_.size(); ++g) groups_[g]->remove_row(slots[g]);
}

RowId KvCache::add_row() {
  KVERN_CHECK(!step_open_);
  const uint64_t id = next_row_++;
  rows_.emplace(id, Row{.slots = add_slots(), .length = 0});
  return static_cast<RowId>(id);
}

Status KvCache::remove_row(RowId row) {
  KVERN_CHECK(!step_open_);
  drop_released_pins();
  KVERN_TRY(const Row* found, find(row));
  remove_slots(found->slots);
  rows_.erase(to_int(row));
  return Ok{};
}

Result<int64_t> KvCache::length(RowId row) const {
  KVERN_TRY(const Row* found, find(row));
  return found->length;
}

Result<int64_t> KvCache::minimum_reusable_position(RowId row) const {
  KVERN_TRY(const Row* found, find(row));
  int64_t minimum = 0;
  for (size_t g = 0; g < groups_.size(); ++g) {
    minimum = std::max(minimum, groups_[g]->minimum_length(found->slots[g], found->length));
  }
  return minimum;
}

Status KvCache::truncate(RowId row, int64_t length) {
  KVERN_CHECK(!step_open_);
  KVERN_TRY(const Row* found, find(row));
  const std::string what =
      "cannot cut a row of " + std::to_string(found->length) + " tokens to " + std::to_string(length);
  if (length < 0 || length > found->length) return fail(ErrorCode::kInvalidArgument, what, name_of(row));
  KVERN_TRY(const int64_t minimum, minimum_reusable_position(row));
  if (length < minimum) {
    return fail(ErrorCode::kInvalidArgument,
                what + ": what the tokens before " + std::to_string(minimum) +
                    " saw is not kept any more; cut to " + std::to_string(minimum) +
                    " or more, or begin a new row",
                name_of(row));
  }
  for (size_t g = 0; g < groups_.size(); ++g) groups_[g]->cut(found->slots[g], found->length, length);
  rows_.at(to_int(row)).length = length;
  return Ok{};
}

Result<RowId> KvCache::fork(RowId row) {
  KVERN_CHECK(!step_open_);
  KVERN_TRY(const Row* source, find(row));
  Row copy{.slots = add_slots(), .length = source->length};
  for (size_t g = 0; g < groups_.size(); ++g) {
    auto forked = groups_[g]->fork(source->slots[g], copy.slots[g]);
    if (forked) continue;
    remove_slots(copy.slots);
    return std::unexpected(std::move(forked).error());
  }
  const uint64_t id = next_row_++;
  rows_.emplace(id, std::move(copy));
  return static_cast<RowId>(id);
}

// Checks the request and makes the step's lists of rows; reserves nothing.
Result<Step> KvCache::plan(std::span<const RowAppend> rows) const {
  Step step;
  int64_t offset = 0;
  step.attend_rows_.resize(groups_.size());
  std::unordered_set<uint64_t> seen;
  for (const RowAppend& append : rows) {
    KVERN_TRY(const Row* row, find(append.row));
    if (!seen.insert(to_int(append.row)).second || append.tokens < 0 ||
        append.tokens > kMaxRowLength - row->length) {
      return fail(ErrorCode::kInvalidArgument,
                  "a step of the KV cache names each row once, with a possible number of tokens",
                  name_of(append.row));
    }
    step.rows_.push_back({append.row, static_cast<Position>(row->length), append.tokens, offset});
    for (size_t g = 0; g < groups_.size(); ++g) {
      step.attend_rows_[g].push_back({row->slots[g], row->length, append.tokens, offset});
    }
    offset += append.tokens;
  }
  return step;
}

// In all groups, or in none.
Status KvCache::open(const Row& row, const Growth& growth) {
  for (size_t g = 0; g < groups_.size(); ++g) {
    auto opened = groups_[g]->open(row.slots[g], growth);
    if (opened) continue;
    for (size_t done = 0; done < g; ++done) groups_[done]->undo(row.slots[done], growth.first);
    return opened;
  }
  return Ok{};
}

Result<Step> KvCache::begin(std::span<const RowAppend> rows) {
  KVERN_CHECK(!step_open_);
  drop_released_pins();
  KVERN_TRY(Step step, plan(rows));
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows_.at(to_int(rows[i].row));
    auto opened = open(row, {row.length, row.length + rows[i].tokens});
    if (opened) continue;
    for (size_t j = planted(Fault::kFailureKeepsStorage) ? i : 0; j < i; ++j) {
      const Row& done = rows_.at(to_int(rows[j].row));
      for (size_t g = 0; g < groups_.size(); ++g) groups_[g]->undo(done.slots[g], done.length);
    }
    return std::unexpected(std::move(opened).error());
  }
  step.cache_ = this;
  step_open_ = true;
  // Now that there is storage for so many: a step that is far too long fails before it takes memory for this.
  for (const StepRow& row : step.rows_) {
    for (int64_t i = 0; i < row.tokens; ++i) step.positions_.push_back(to_int(row.first) + i);
  }
  return step;
}

AttendSource KvCache::source(LayerIndex layer, const Step& step) const {
  KVERN_CHECK(step.cache_ == this);
  const LayerPlace& place = places_.at(static_cast<size_t>(to_int(layer)));
  const KvGroup& group = *groups_[place.group];
  AttendSource source{.stores = {}, .view = group.view(), .rows = step.attend_rows_[place.group]};
  for (const KvForm form : {KvForm::kEncoded, KvForm::kFull}) {
    if (group.layout(form) == nullptr) continue;
    source.stores[static_cast<size_t>(form)] = {
        group.layout(form), &group.geometry(form).layers[static_cast<size_t>(to_int(place.local))],
        planted(Fault::kOtherLayer) ? LayerIndex{} : place.local};
  }
  return source;
}

void KvCache::append(compute::Context& context, LayerIndex layer, const Step& step, const AppendArgs& args) {
  encode_step(context, source(layer, step), args);
}

void KvCache::attend(compute::Context& context, LayerIndex layer, const Step& step,
                     const AttendArgs& args) const {
  state::attend(context, source(layer, step), args);
}

// Keeps the first keep[i] new tokens of row i (an empty span: none) and gives back what is not needed.
void KvCache::close(Step& step, std::span<const int64_t> keep) {
  KVERN_CHECK(step.cache_ == this && step_open_);
  for (size_t i = 0; i < step.rows_.size(); ++i) {
    const StepRow& row = step.rows_[i];
    const int64_t kept = keep.empty() ? 0 : keep[i];
    KVERN_CHECK(kept >= 0 && kept <= row.tokens);
    Row& target = rows_.at(to_int(row.row));
    const Growth growth{target.length, target.length + row.tokens};
    target.length += kept + (planted(Fault::kRollbackKeepsOne) && kept < row.tokens ? 1 : 0);
    for (size_t g = 0; g < groups_.size(); ++g) groups_[g]->close(target.slots[g], growth, target.length);
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

size_t KvCache::bytes_per_token() const {
  size_t sum = 0;
  for (const auto& group : groups_) sum += group->geometry(KvForm::kEncoded).bytes_per_token();
  return sum;
}

size_t KvCache::projected_bytes(int64_t tokens) const {
  size_t sum = 0;
  for (const auto& group : groups_) {
    for (const KvForm form : {KvForm::kEncoded, KvForm::kFull}) {
      if (group->layout(form) != nullptr)
        sum += group->layout(form)->row_bytes(group->held_after(form, tokens));
    }
  }
  return sum;
}

int64_t KvCache::projected_minimum_reusable_position(int64_t tokens) const {
  int64_t minimum = 0;
  for (const auto& group : groups_) minimum = std::max(minimum, group->minimum_length_after(tokens));
  return minimum;
}

Result<size_t> KvCache::live_bytes_of(std::span<const RowId> rows) const {
  std::vector<const Row*> found;
  std::unordered_set<uint64_t> seen;
  for (const RowId id : rows) {
    KVERN_TRY(const Row* row, find(id));
    if (seen.insert(to_int(id)).second) found.push_back(row);
  }
  size_t sum = 0;
  std::vector<RowSlot> slots;
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (const KvForm form : {KvForm::kEncoded, KvForm::kFull}) {
      if (groups_[g]->layout(form) == nullptr) continue;
      slots.clear();
      for (const Row* row : found) slots.push_back(row->slots[g][static_cast<size_t>(form)]);
      sum += groups_[g]->layout(form)->live_bytes(slots);
    }
  }
  return sum;
}

LayoutUsage KvCache::usage() const {
  LayoutUsage sum;
  for (const auto& group : groups_) {
    for (const KvForm form : {KvForm::kEncoded, KvForm::kFull}) {
      if (group->layout(form) == nullptr) continue;
      const LayoutUsage usage = group->layout(form)->usage();
      sum.live += usage.live;
      sum.shared += usage.shared;
      sum.slack += usage.slack;
    }
  }
  return sum;
}

}  // namespace kvern::state
