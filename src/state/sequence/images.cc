// Rows that leave a cache and come into one.
#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "state/sequence/kv_cache.h"
#include "state/sequence/transfer.h"

namespace kvern::state {

Status KvCache::filter(std::span<const RowId> keep) {
  KVERN_CHECK(!step_open_);
  std::unordered_set<uint64_t> kept;
  for (const RowId row : keep) {
    KVERN_TRY([[maybe_unused]] const Row* found, find(row));
    kept.insert(to_int(row));
  }
  std::erase_if(rows_, [&](const auto& entry) {
    if (kept.contains(entry.first)) return false;
    remove_slots(entry.second.slots);
    return true;
  });
  return Ok{};
}

Result<RowImage> KvCache::extract(RowId row) const {
  KVERN_CHECK(!step_open_);
  KVERN_TRY(const Row* found, find(row));
  RowImage image{.identity = identity(), .length = found->length, .stores = {}};
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (const KvForm form : {KvForm::kEncoded, KvForm::kFull}) {
      const Layout* layout = groups_[g]->layout(form);
      if (layout == nullptr) continue;
      const RowSlot slot = found->slots[g][static_cast<size_t>(form)];
      const StoreSpec& spec = groups_[g]->spec(form);
      image.stores.push_back({canonical(spec, layout->held(slot)), read_records(*layout, spec, slot)});
    }
  }
  return image;
}

Result<RowImage> KvCache::evict(RowId row) {
  KVERN_TRY(RowImage image, extract(row));
  KVERN_TRY_STATUS(remove_row(row));
  return image;
}

Status KvCache::check_image(const RowImage& image) const {
  if (image.identity != identity()) {
    return fail(
        ErrorCode::kInvalidArgument,
        "this row belongs to a cache of another model, type or precision; it can be adopted only where "
        "all of them are the same");
  }
  size_t next = 0;
  for (const auto& group : groups_) {
    for (const KvForm form : {KvForm::kEncoded, KvForm::kFull}) {
      if (group->layout(form) == nullptr) continue;
      const bool fits =
          next < image.stores.size() && group->complete(form, image.stores[next].held, image.length) &&
          image.stores[next].records.size() ==
              record_bytes(group->spec(form), held_positions(group->spec(form), image.stores[next].held));
      if (!fits) {
        return fail(ErrorCode::kCorrupt, "the image of a row of keys and values contradicts itself",
                    "store " + std::to_string(next));
      }
      ++next;
    }
  }
  if (next != image.stores.size()) {
    return fail(ErrorCode::kCorrupt, "the image of a row of keys and values has too many stores");
  }
  return Ok{};
}

Status KvCache::adopt_store(const StoreImage& store, Layout& layout, const StoreSpec& spec, RowSlot slot) {
  if (store.held.length == 0) return Ok{};
  KVERN_TRY_STATUS(layout.assign(slot, store.held));
  write_records(layout, spec, slot, store.records);
  return Ok{};
}

Result<RowId> KvCache::adopt(const RowImage& image) {
  KVERN_CHECK(!step_open_);
  KVERN_TRY_STATUS(check_image(image));
  Row row{.slots = add_slots(), .length = image.length};
  size_t next = 0;
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (const KvForm form : {KvForm::kEncoded, KvForm::kFull}) {
      if (groups_[g]->layout(form) == nullptr) continue;
      auto adopted = adopt_store(image.stores[next++], *groups_[g]->layout(form), groups_[g]->spec(form),
                                 row.slots[g][static_cast<size_t>(form)]);
      if (adopted) continue;
      remove_slots(row.slots);
      return std::unexpected(std::move(adopted).error());
    }
  }
  const uint64_t id = next_row_++;
  rows_.emplace(id, std::move(row));
  return static_cast<RowId>(id);
}

Result<std::vector<RowId>> KvCache::merge(KvCache& from) {
  KVERN_CHECK(!step_open_ && !from.step_open_ && this != &from);
  std::vector<uint64_t> old;
  old.reserve(from.rows_.size());
  for (const auto& [id, row] : from.rows_) old.push_back(id);
  std::ranges::sort(old);
  std::vector<RowId> adopted;
  for (const uint64_t id : old) {
    auto image = from.extract(static_cast<RowId>(id));
    auto row = image ? adopt(*image) : Result<RowId>(std::unexpected(image.error()));
    if (row) {
      adopted.push_back(*row);
      continue;
    }
    for (const RowId done : adopted) KVERN_CHECK(remove_row(done).has_value());
    return std::unexpected(std::move(row).error());
  }
  KVERN_TRY_STATUS(from.filter({}));
  return adopted;
}

}  // namespace kvern::state
