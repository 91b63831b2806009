// Rows that are saved and restored piece by piece.
#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "state/sequence/identity.h"
#include "state/sequence/kv_cache.h"
#include "state/sequence/piece.h"
#include "state/sequence/plan_groups.h"

namespace kvern::state {
namespace {

constexpr KvForm kForms[] = {KvForm::kEncoded, KvForm::kFull};

CollectRuns collect_from(const Layout& layout, RowSlot slot) {
  return [&layout, slot](const StreamId& stream, int64_t begin, int64_t end, RunList& out) {
    layout.collect(slot, stream, begin, end, out);
  };
}

// What is left of ascending ranges without `taken`.
void subtract(std::vector<PositionRange>& ranges, const PositionRange& taken) {
  std::vector<PositionRange> left;
  for (const PositionRange& range : ranges) {
    const PositionRange before{range.begin, std::min(range.end, taken.begin)};
    const PositionRange after{std::max(range.begin, taken.end), range.end};
    if (!range.overlaps(taken.begin, taken.end)) {
      left.push_back(range);
      continue;
    }
    if (before.size() > 0) left.push_back(before);
    if (after.size() > 0) left.push_back(after);
  }
  ranges = std::move(left);
}

bool contains(const std::vector<PositionRange>& ranges, const PositionRange& part) {
  return part.begin < part.end &&
         std::ranges::any_of(
             ranges,
             [&](const PositionRange& range) { return range.begin <= part.begin && part.end <= range.end; });
}

struct Piece {
  PositionRange range;
  std::span<const std::byte> bytes;
};

void write_part(const Geometry& geometry, const CollectRuns& collect, const Piece& piece,
                const PositionRange& part) {
  if (part == piece.range) return write_piece(geometry, collect, part, piece.bytes.data());
  std::vector<std::byte> bytes(static_cast<size_t>(part.size()) * geometry.bytes_per_token());
  cut_piece(geometry, piece.range, piece.bytes, part, bytes.data());
  write_piece(geometry, collect, part, bytes.data());
}

}  // namespace

std::vector<RowStore> KvCache::stores() const {
  std::vector<RowStore> stores;
  for_stores([&](const KvGroup& group, KvForm form) {
    stores.push_back({.encoded = form == KvForm::kEncoded,
                      .origin = group.spec(form).origin,
                      .head_end = group.spec(form).head_end,
                      .bytes_per_position = group.geometry(form).bytes_per_token(),
                      .text = store_text(group, form)});
  });
  return stores;
}

Result<RowShape> KvCache::shape(RowId row) const {
  KVERN_TRY(const Row* found, find(row));
  RowShape shape{.length = found->length, .stores = {}};
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (const KvForm form : kForms) {
      const Layout* layout = groups_[g]->layout(form);
      if (layout == nullptr) continue;
      const Held held = layout->held(found->slots[g][static_cast<size_t>(form)]);
      shape.stores.push_back(canonical(groups_[g]->spec(form), held));
    }
  }
  return shape;
}

Status KvCache::check_shape(const RowShape& shape) const {
  size_t next = 0;
  bool fits = shape.length >= 0 && shape.length <= kMaxRowLength;
  for_stores([&](const KvGroup& group, KvForm form) {
    const size_t i = next++;
    fits = fits && i < shape.stores.size() && group.complete(form, shape.stores[i], shape.length) &&
           canonical(group.spec(form), shape.stores[i]) == shape.stores[i];
  });
  if (fits && next == shape.stores.size()) return Ok{};
  return fail(ErrorCode::kCorrupt, "what a saved row is said to hold contradicts itself or this cache");
}

Result<int64_t> KvCache::minimum_reusable_position(const RowShape& shape) const {
  KVERN_TRY_STATUS(check_shape(shape));
  int64_t minimum = 0;
  size_t next = 0;
  for (const auto& group : groups_) {
    std::array<Held, kKvForms> held{};
    for (const KvForm form : kForms) {
      if (group->layout(form) != nullptr) held[static_cast<size_t>(form)] = shape.stores[next++];
    }
    minimum = std::max(minimum, group->minimum_length(held, shape.length));
  }
  return minimum;
}

Result<RowShape> KvCache::shape_after_cut(const RowShape& shape, int64_t length) const {
  KVERN_TRY(const int64_t minimum, minimum_reusable_position(shape));
  if (length < minimum || length > shape.length) {
    return fail(ErrorCode::kInvalidArgument, "a row of " + std::to_string(shape.length) +
                                                 " tokens that can be cut to " + std::to_string(minimum) +
                                                 " cannot be cut to " + std::to_string(length));
  }
  RowShape cut{.length = length, .stores = {}};
  size_t next = 0;
  for_stores([&](const KvGroup& group, KvForm form) {
    const Held& before = shape.stores[next++];
    Held held = length == shape.length ? before : group.held_after(form, length);
    if (held.length > 0) held.tail_begin = std::max(held.tail_begin, before.tail_begin);
    cut.stores.push_back(canonical(group.spec(form), held));
  });
  return cut;
}

Result<RowPin> KvCache::pin(RowId row) {
  KVERN_CHECK(!step_open_);
  drop_released_pins();
  KVERN_TRY(const Row* found, find(row));
  auto core = std::make_shared<RowPin::Core>();
  core->shape = *shape(row);
  core->infos = stores();
  size_t next = 0;
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (const KvForm form : kForms) {
      Layout* layout = groups_[g]->layout(form);
      if (layout == nullptr) continue;
      const RowSlot slot = found->slots[g][static_cast<size_t>(form)];
      RowPin::Store& store = core->stores.emplace_back();
      store.geometry = &groups_[g]->geometry(form);
      store.ranges = held_ranges(core->infos[next], core->shape.stores[next]);
      ++next;
      store.pages = layout->pin(slot);
      if (store.pages != nullptr) continue;
      for (const PositionRange& range : store.ranges) {
        auto& copy =
            store.copies.emplace_back(static_cast<size_t>(range.size()) * store.geometry->bytes_per_token());
        read_piece(*store.geometry, collect_from(*layout, slot), range, copy.data());
      }
    }
  }
  pins_.push_back(core);
  return RowPin(std::move(core));
}

void KvCache::drop_released_pins() {
  std::erase_if(pins_, [](const auto& pin) {
    if (!pin->released.load(std::memory_order_acquire)) return false;
    pin->stores.clear();  // here and not wherever the last reference goes
    return true;
  });
}

const RowShape& RowPin::shape() const { return core_->shape; }
const std::vector<RowStore>& RowPin::stores() const { return core_->infos; }

void RowPin::read(size_t store, const PositionRange& range, std::span<std::byte> out) const {
  const Store& from = core_->stores.at(store);
  KVERN_CHECK(contains(from.ranges, range) &&
              out.size() == static_cast<size_t>(range.size()) * from.geometry->bytes_per_token());
  if (from.pages != nullptr) {
    const auto collect = [&](const StreamId& stream, int64_t begin, int64_t end, RunList& runs) {
      from.pages->collect(stream, begin, end, runs);
    };
    return read_piece(*from.geometry, collect, range, out.data());
  }
  for (size_t i = 0; i < from.ranges.size(); ++i) {
    if (!contains({from.ranges[i]}, range)) continue;
    return cut_piece(*from.geometry, from.ranges[i], from.copies[i], range, out.data());
  }
}

Result<RowDraft> KvCache::draft(const RowShape& shape) {
  KVERN_CHECK(!step_open_);
  drop_released_pins();
  KVERN_TRY_STATUS(check_shape(shape));
  std::vector<GroupSlots> slots = add_slots();
  size_t next = 0;
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (const KvForm form : kForms) {
      Layout* layout = groups_[g]->layout(form);
      if (layout == nullptr) continue;
      const Held& held = shape.stores[next++];
      if (held.length == 0) continue;
      auto assigned = layout->assign(slots[g][static_cast<size_t>(form)], held);
      if (assigned) continue;
      remove_slots(slots);
      return std::unexpected(std::move(assigned).error());
    }
  }
  return RowDraft(*this, shape, std::move(slots));
}

RowDraft::RowDraft(KvCache& cache, RowShape shape, std::vector<GroupSlots> slots)
    : cache_(&cache), shape_(std::move(shape)), slots_(std::move(slots)) {
  const std::vector<RowStore> stores = cache.stores();
  for (size_t s = 0; s < stores.size(); ++s) missing_.push_back(held_ranges(stores[s], shape_.stores[s]));
}

RowDraft::RowDraft(RowDraft&& other) noexcept
    : cache_(std::exchange(other.cache_, nullptr)),
      shape_(std::move(other.shape_)),
      slots_(std::move(other.slots_)),
      missing_(std::move(other.missing_)) {}

RowDraft::~RowDraft() {
  if (cache_ != nullptr) cache_->remove_slots(slots_);
}

Status RowDraft::write(size_t store, const PositionRange& range, std::span<const std::byte> bytes) {
  KVERN_CHECK(cache_ != nullptr && !cache_->step_open_);
  size_t next = 0;
  for (size_t g = 0; g < cache_->groups_.size(); ++g) {
    const KvGroup& group = *cache_->groups_[g];
    for (const KvForm form : kForms) {
      if (group.layout(form) == nullptr || next++ != store) continue;
      const Geometry& geometry = group.geometry(form);
      if (range.size() < 1 || bytes.size() != static_cast<size_t>(range.size()) * geometry.bytes_per_token())
        break;
      const auto collect = collect_from(*group.layout(form), slots_[g][static_cast<size_t>(form)]);
      const Held& held = shape_.stores[store];
      for (const PositionRange& part :
           {head_range(group.spec(form), held), tail_range(group.spec(form), held)}) {
        const PositionRange common{std::max(part.begin, range.begin), std::min(part.end, range.end)};
        if (common.begin >= common.end) continue;
        write_part(geometry, collect, {range, bytes}, common);
        subtract(missing_[store], common);
      }
      return Ok{};
    }
  }
  return fail(ErrorCode::kInvalidArgument, "a piece does not belong to the row that is being restored",
              "store " + std::to_string(store) + ", positions " + std::to_string(range.begin) + " to " +
                  std::to_string(range.end));
}

int64_t RowDraft::complete_until() const {
  int64_t until = shape_.length;
  for (const auto& ranges : missing_) {
    if (!ranges.empty()) until = std::min(until, ranges.front().begin);
  }
  return until;
}

Result<RowId> RowDraft::finish(int64_t length) {
  KVERN_CHECK(cache_ != nullptr && !cache_->step_open_);
  KVERN_TRY(const RowShape cut, cache_->shape_after_cut(shape_, length));
  const std::vector<RowStore> stores = cache_->stores();
  for (size_t s = 0; s < stores.size(); ++s) {
    for (const PositionRange& range : held_ranges(stores[s], cut.stores[s])) {
      for (const PositionRange& missing : missing_[s]) {
        if (!range.overlaps(missing.begin, missing.end)) continue;
        return fail(ErrorCode::kInvalidArgument,
                    "a restored row lacks positions from " + std::to_string(missing.begin) + " on");
      }
    }
  }
  KvCache& cache = *std::exchange(cache_, nullptr);
  const uint64_t id = cache.next_row_++;
  cache.rows_.emplace(id, KvCache::Row{.slots = std::move(slots_), .length = shape_.length});
  KVERN_TRY_STATUS(cache.truncate(static_cast<RowId>(id), length));
  return static_cast<RowId>(id);
}

}  // namespace kvern::state
