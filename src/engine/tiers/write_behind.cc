#include "engine/tiers/write_behind.h"

#include <algorithm>
#include <utility>

#include "store/row/saved_row.h"

namespace kvern::engine {
namespace {

constexpr size_t kMostSavingBytes = size_t{2} << 30;
// How often it is looked whether tiers have saved something, when nothing else happens.
constexpr std::chrono::milliseconds kLookAgain{5};
// What was dropped, or could not be saved, is offered again so much later.
constexpr std::chrono::seconds kTryAgain{30};

size_t most_saving_bytes(const state::KvCache& kv, const TierOptions& options) {
  if (options.most_saving_bytes != 0) return options.most_saving_bytes;
  const size_t budget = kv.options().budget_bytes;
  return budget == 0 ? kMostSavingBytes : std::min(kMostSavingBytes, budget / 8);
}

}  // namespace

WriteBehind::WriteBehind(const Parts& parts, const TierOptions& options)
    : parts_(parts), options_(options), most_bytes_(most_saving_bytes(parts.kv, options)) {}

void WriteBehind::schedule(uint64_t id, Entry& entry, std::optional<TimePoint> due) {
  if (entry.due) due_.erase({*entry.due, id});
  entry.due = due;
  if (due) due_.emplace(*due, id);
}

void WriteBehind::on_kept(uint64_t id) {
  newest_ = std::max(newest_, id);
  schedule(id, entries_[id], parts_.clock.now() + options_.settle);
}

void WriteBehind::on_removed(uint64_t id) {
  const auto it = entries_.find(id);
  if (it == entries_.end()) return;
  schedule(id, it->second, std::nullopt);
  entries_.erase(it);
}

bool WriteBehind::is_safe(uint64_t id) const {
  const auto it = entries_.find(id);
  return it != entries_.end() && it->second.safe;
}

void WriteBehind::set_safe(uint64_t id) {
  const auto it = entries_.find(id);
  if (it == entries_.end()) return;
  it->second.safe = true;
  schedule(id, it->second, std::nullopt);
}

void WriteBehind::on_evicted(uint64_t id) {
  const Entry& entry = entries_.at(id);
  if (entry.safe || entry.offers > 0) return;
  const auto row = parts_.prefixes.entry(id);
  if (row && offer(*row, id) == Offer::kNoRoom) ++lost_;
}

void WriteBehind::on_too_large(const KeptRow& row) {
  if (offer(row, 0) == Offer::kNoRoom) ++lost_;
}

bool WriteBehind::any_covers(const KeptRow& row) {
  const auto space = parts_.spaces.of(row.name_space);
  return std::ranges::any_of(options_.tiers,
                             [&](const LoopTier& tier) { return tier.tier->covers(*space, row.tokens); });
}

bool WriteBehind::offer_to(store::Tier& tier, const KeptRow& row, uint64_t id) {
  auto entry = store::entry_of_row(parts_.kv, row.row, parts_.spaces.of(row.name_space), row.tokens);
  if (!entry) return false;
  Pin pin{.id = id, .bytes = entry->bytes(), .pieces = entry->pieces};
  if (!tier.offer(*std::move(entry))) return false;
  saving_bytes_ += pin.bytes;
  pins_.push_back(std::move(pin));
  return true;
}

// One row alone always has.
bool WriteBehind::has_room(state::RowId row) {
  const size_t bytes = parts_.kv.live_bytes_of({&row, 1}).value_or(0);
  const auto fits = [&] { return saving_bytes_ == 0 || saving_bytes_ + bytes <= most_bytes_; };
  if (!fits()) notice();
  return fits();
}

// To every tier that saves and has not got it.
WriteBehind::Offer WriteBehind::offer(const KeptRow& row, uint64_t id) {
  if (std::ssize(row.tokens) < options_.least_tokens) return Offer::kSafe;
  // Asked behind the computation, so that no row of changed weights gets by.
  if (options_.identity_holds && !options_.identity_holds()) return Offer::kRefused;
  const auto space = parts_.spaces.of(row.name_space);
  std::vector<store::Tier*> missing;
  bool covered = false;
  for (const LoopTier& tier : options_.tiers) {
    const bool has = tier.tier->covers(*space, row.tokens);
    covered = covered || has;
    if (!has && tier.saves) missing.push_back(tier.tier);
  }
  if (missing.empty()) return covered ? Offer::kSafe : Offer::kRefused;
  if (!has_room(row.row)) return Offer::kNoRoom;
  int offers = 0;
  for (store::Tier* tier : missing) offers += offer_to(*tier, row, id) ? 1 : 0;
  if (const auto it = entries_.find(id); it != entries_.end()) it->second.offers += offers;
  return offers > 0 ? Offer::kOffered : Offer::kRefused;
}

// What a tier has let go of is saved, or could not be.
void WriteBehind::notice() {
  std::vector<uint64_t> done;
  std::erase_if(pins_, [&](const Pin& pin) {
    if (!pin.pieces.expired()) return false;
    saving_bytes_ -= pin.bytes;
    done.push_back(pin.id);
    return true;
  });
  if (done.empty()) return;
  full_ = false;
  ++released_;
  parts_.kv.drop_released_pins();
  for (const uint64_t id : done) ended(id);
}

void WriteBehind::ended(uint64_t id) {
  const auto it = entries_.find(id);
  if (it == entries_.end() || --it->second.offers > 0) return;
  const auto row = parts_.prefixes.entry(id);
  it->second.safe = row && any_covers(*row);
  if (!it->second.safe) schedule(id, it->second, parts_.clock.now() + kTryAgain);
}

bool WriteBehind::holds_storage() {
  notice();
  return !pins_.empty();
}

void WriteBehind::step(TimePoint now) {
  notice();
  if (due_.empty() || due_.begin()->first > now || full_) return;
  const uint64_t id = due_.begin()->second;
  Entry& entry = entries_.at(id);
  const auto row = parts_.prefixes.entry(id);
  const Offer made = row ? offer(*row, id) : Offer::kSafe;
  if (made == Offer::kNoRoom) {
    full_ = true;
    return;
  }
  entry.safe = made == Offer::kSafe;
  schedule(id, entry, std::nullopt);
}

void WriteBehind::set_busy(bool busy) {
  if (std::exchange(busy_, busy) == busy) return;
  for (const LoopTier& tier : options_.tiers) tier.tier->set_busy(busy);
}

std::optional<WriteBehind::TimePoint> WriteBehind::next_step() const {
  if (!pins_.empty()) {
    const TimePoint soon = parts_.clock.now() + kLookAgain;
    return due_.empty() || full_ ? soon : std::min(soon, due_.begin()->first);
  }
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

int64_t WriteBehind::hastened() const {
  return std::ranges::count_if(due_, [&](const auto& due) { return due.second <= hastened_; });
}

std::vector<KeptTokens> WriteBehind::hastened_tokens() const {
  std::vector<KeptTokens> kept;
  for (const auto& [id, entry] : entries_) {
    if (id > hastened_) continue;
    auto row = parts_.prefixes.entry(id);
    if (row && std::ssize(row->tokens) >= options_.least_tokens)
      kept.push_back({.space = parts_.spaces.of(row->name_space), .tokens = std::move(row->tokens)});
  }
  return kept;
}

void WriteBehind::hasten() {
  hastened_ = newest_;
  const TimePoint now = parts_.clock.now();
  for (auto& [id, entry] : entries_) {
    if (!entry.safe && entry.offers == 0) schedule(id, entry, now);
  }
}

}  // namespace kvern::engine
