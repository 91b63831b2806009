#include "engine/prefix/prefix_cache.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace kvern::engine {
namespace {

// A snapshot saves at least so many tokens over the next shorter place, or it is not worth a chunk of its
// own: prompts of one chat template all begin alike.
constexpr int64_t kLeastGain = 16;
// No row is as long; stands for a context that is not limited.
constexpr int64_t kAnyLength = int64_t{1} << 31;
// Of so many entries that are worth least, and at most half of all, one that is safe elsewhere goes first.
constexpr size_t kLeastWorth = 8;

}  // namespace

PrefixCache::PrefixCache(state::KvCache& kv, const PrefixOptions& options)
    : kv_(kv),
      options_(options),
      longest_minimum_(kv.projected_minimum_reusable_position(
          options.context_tokens > 0 ? options.context_tokens : kAnyLength)) {
  KVERN_CHECK(options.snapshot_tokens >= 1);
}

PrefixCache::~PrefixCache() { clear(); }

const PrefixCache::Space* PrefixCache::find(std::string_view name) const {
  const auto it = spaces_.find(name);
  return it == spaces_.end() ? nullptr : it->second.get();
}

PrefixCache::Space& PrefixCache::space(std::string_view name) {
  auto it = spaces_.find(name);
  if (it == spaces_.end()) {
    auto made = std::make_unique<Space>();
    made->name = name;
    it = spaces_.emplace(made->name, std::move(made)).first;
  }
  return *it->second;
}

void PrefixCache::drop_if_empty(Space& space) {
  if (space.kept.empty() && space.running.empty()) spaces_.erase(spaces_.find(space.name));
}

Result<PrefixCache::Hit> PrefixCache::take(std::string_view name_space, std::span<const int32_t> prompt) {
  KVERN_CHECK(!prompt.empty());
  const int64_t limit = std::ssize(prompt) - 1;
  Hit hit;
  PrefixTree::Match kept;
  PrefixTree::Match running;
  if (const Space* space = find(name_space)) {
    kept = space->kept.find(prompt, limit);
    running = space->running.find(prompt, limit);
  }
  hit.tokens = std::max(kept.tokens, running.tokens);
  hit.common = std::max(kept.common, running.common);
  const bool from_kept = kept.tokens == hit.tokens;
  if (hit.tokens == 0) {
    hit.row = kv_.add_row();
  } else {
    const state::RowId donor = from_kept ? entries_.at(kept.id).row : static_cast<state::RowId>(running.id);
    KVERN_TRY(hit.row, kv_.fork(donor));
    KVERN_CHECK(kv_.truncate(hit.row, hit.tokens).has_value());
    if (from_kept) use(kept.id);
  }
  stats_.queried_tokens += prompt.size();
  stats_.hit_tokens += static_cast<uint64_t>(hit.tokens);
  return hit;
}

int64_t PrefixCache::usable(std::string_view name_space, std::span<const int32_t> prompt) const {
  const Space* space = find(name_space);
  if (space == nullptr) return 0;
  const int64_t limit = std::ssize(prompt) - 1;
  return std::max(space->kept.find(prompt, limit).tokens, space->running.find(prompt, limit).tokens);
}

void PrefixCache::running(std::string_view name_space, state::RowId row, std::span<const int32_t> tokens) {
  const auto length = std::ssize(tokens);
  const auto minimum = kv_.minimum_reusable_position(row);
  KVERN_CHECK(minimum.has_value() && kv_.length(row) == length);
  const auto [it, is_new] = running_.try_emplace(to_int(row));
  Running& known = it->second;
  if (is_new) {
    known.space = &space(name_space);
    known.space->running.insert(to_int(row), tokens, *minimum);
  } else {
    KVERN_CHECK(known.length <= length);
    known.space->running.extend(to_int(row), tokens.subspan(static_cast<size_t>(known.length)), *minimum);
  }
  known.length = length;
}

void PrefixCache::forget_running(state::RowId row) {
  const auto it = running_.find(to_int(row));
  if (it == running_.end()) return;
  Space& space = *it->second.space;
  space.running.erase(to_int(row));
  running_.erase(it);
  drop_if_empty(space);
}

// Where the prompt and others go on differently; the next one that parts there can be served.
int64_t PrefixCache::parting(const Space& space, std::span<const int32_t> prompt) const {
  return std::max(space.kept.find(prompt).parting, space.running.find(prompt).parting);
}

// Where the beginning of a prompt of `size` tokens is kept whatever follows it. At its very end, if the row
// can still be cut by the one token that is always computed: that saves a chunk.
int64_t PrefixCache::end_place(int64_t size) const {
  return kv_.projected_minimum_reusable_position(size) < size ? size : size - 1;
}

int64_t PrefixCache::chunk_end(std::string_view name_space, std::span<const int32_t> prompt,
                               int64_t from) const {
  const int64_t size = std::ssize(prompt);
  KVERN_CHECK(from < size);
  if (options_.max_bytes == 0 || longest_minimum_ == 0) return size;
  int64_t end = size;
  const auto consider = [&](int64_t place) {
    if (place > from && place < longest_minimum_) end = std::min(end, place);
  };
  consider(end_place(size));
  const int64_t regular = (from / options_.snapshot_tokens + 1) * options_.snapshot_tokens;
  // Of the prompt alone; what is generated behind it is not known yet.
  if (regular < kv_.projected_minimum_reusable_position(size)) consider(regular);
  const Space* space = find(name_space);
  const int64_t part = space == nullptr ? 0 : parting(*space, prompt);
  if (part % options_.snapshot_tokens >= kLeastGain) consider(part);
  return end;
}

void PrefixCache::snapshot(std::string_view name_space, state::RowId row, std::span<const int32_t> prompt) {
  const int64_t size = std::ssize(prompt);
  const int64_t length = kv_.length(row).value_or(0);
  KVERN_CHECK(length <= size);
  if (length == 0 || options_.max_bytes == 0 || longest_minimum_ <= length) return;
  const bool at_end = length == end_place(size);
  if (!at_end && (length == size || chunk_end(name_space, prompt, length - 1) != length)) return;
  const std::span<const int32_t> tokens = prompt.first(static_cast<size_t>(length));
  Space& home = space(name_space);
  if (home.kept.find(tokens).tokens < length && fits(row)) {
    const uint64_t id = announce(home, tokens, row);
    make_room(row);
    if (const auto fork = kv_.fork(row)) {
      const bool regular = !at_end && length % options_.snapshot_tokens == 0;
      admit(id, home, *fork);
      rank(id, !regular);
      use_first(id);
    } else {
      home.kept.erase(id);  // no storage for a copy: the row goes on without
    }
  }
  drop_if_empty(home);
}

std::optional<uint64_t> PrefixCache::put(std::string_view name_space, std::vector<int32_t> tokens,
                                         state::RowId row) {
  const int64_t length = std::ssize(tokens);
  const auto minimum = kv_.minimum_reusable_position(row);
  KVERN_CHECK(minimum.has_value() && kv_.length(row) == length);
  forget_running(row);
  Space& home = space(name_space);
  const PrefixTree::Match match = home.kept.find(tokens);
  const bool known = length > 0 && match.tokens == length;
  const bool equal = known && home.kept.length(match.id) == length;
  std::optional<uint64_t> made;
  if (known && (!equal || home.kept.minimum(match.id) < *minimum)) {
    use(match.id);  // it gives all that this row could, and more
    remove_row(row);
  } else if (length == 0 || !fits(row)) {
    if (length > 0 && observer_ != nullptr)
      observer_->on_too_large({.name_space = name_space, .tokens = std::move(tokens), .row = row});
    remove_row(row);
  } else {
    if (equal) remove(match.id);
    made = announce(home, tokens, row);
    supersede(*made, home);
    make_room(row);
    admit(*made, home, row);
    use(*made);
  }
  drop_if_empty(home);
  return made;
}

void PrefixCache::forget(std::string_view name_space, std::span<const int32_t> tokens) {
  const auto it = spaces_.find(name_space);
  if (it == spaces_.end() || tokens.empty()) return;
  Space& home = *it->second;
  for (PrefixTree::Match match = home.kept.find(tokens); match.tokens == std::ssize(tokens);
       match = home.kept.find(tokens))
    remove(match.id);
  drop_if_empty(home);
}

std::optional<KeptRow> PrefixCache::entry(uint64_t id) const {
  const auto it = entries_.find(id);
  if (it == entries_.end()) return std::nullopt;
  const Entry& entry = it->second;
  return KeptRow{.name_space = entry.space->name, .tokens = entry.space->kept.tokens(id), .row = entry.row};
}

// The place of a new entry in its tree. Until it is admitted, nothing else knows of it.
uint64_t PrefixCache::announce(Space& space, std::span<const int32_t> tokens, state::RowId row) {
  const uint64_t id = next_entry_++;
  space.kept.insert(id, tokens, *kv_.minimum_reusable_position(row));
  return id;
}

void PrefixCache::admit(uint64_t id, Space& space, state::RowId row) {
  const size_t alone = *kv_.live_bytes_of({&row, 1});
  alone_bytes_ += alone;
  entries_.emplace(id, Entry{.space = &space, .row = row, .rank = {}, .alone_bytes = alone});
  supersede(id, space);
  if (observer_ != nullptr) observer_->on_kept(id);
}

// Removes the entries that this one gives as well.
void PrefixCache::supersede(uint64_t id, Space& space) {
  const int64_t minimum = space.kept.minimum(id);
  for (const uint64_t beginning : space.kept.beginnings(id)) {
    if (space.kept.length(beginning) >= minimum) remove(beginning);
  }
}

bool PrefixCache::fits(state::RowId row) const { return *kv_.live_bytes_of({&row, 1}) <= options_.max_bytes; }

// Until max_bytes holds with this row, which is no entry.
void PrefixCache::make_room(state::RowId row) {
  const size_t alone = *kv_.live_bytes_of({&row, 1});
  while (alone_bytes_ + alone > options_.max_bytes) {
    std::vector<state::RowId> all = rows();
    all.push_back(row);
    if (*kv_.live_bytes_of(all) <= options_.max_bytes) return;
    KVERN_CHECK(evict_one());
  }
}

// The last use of an entry is now.
void PrefixCache::use(uint64_t id) {
  rank(id, true);
  use_first(id);
}

// The shortest beginning of an entry stays as long as what goes on from it: it serves all that do.
void PrefixCache::use_first(uint64_t id) {
  const std::vector<uint64_t> beginnings = entries_.at(id).space->kept.beginnings(id);
  if (!beginnings.empty()) rank(beginnings.back(), std::get<bool>(entries_.at(beginnings.back()).rank));
}

void PrefixCache::rank(uint64_t id, bool proven) {
  Entry& entry = entries_.at(id);
  order_.erase(entry.rank);
  entry.rank = {proven, ++time_, id};
  order_.insert(entry.rank);
}

void PrefixCache::remove(uint64_t id) {
  const auto it = entries_.find(id);
  const Entry entry = it->second;
  if (observer_ != nullptr) observer_->on_removed(id);
  entries_.erase(it);
  order_.erase(entry.rank);
  entry.space->kept.erase(id);
  alone_bytes_ -= entry.alone_bytes;
  remove_row(entry.row);
}

void PrefixCache::remove_row(state::RowId row) { KVERN_CHECK(kv_.remove_row(row).has_value()); }

uint64_t PrefixCache::least_worth() const {
  const size_t most = observer_ == nullptr ? 0 : std::min(kLeastWorth, (order_.size() + 1) / 2);
  auto it = order_.begin();
  for (size_t looked = 0; looked < most; ++looked, ++it) {
    if (observer_->is_safe(std::get<2>(*it))) return std::get<2>(*it);
  }
  return std::get<2>(*order_.begin());
}

bool PrefixCache::evict_one() {
  if (order_.empty()) return false;
  const uint64_t id = least_worth();
  if (observer_ != nullptr) observer_->on_evicted(id);
  Space& space = *entries_.at(id).space;
  remove(id);
  ++stats_.evictions;
  drop_if_empty(space);
  return true;
}

void PrefixCache::clear() {
  while (!entries_.empty()) {
    Space& space = *entries_.begin()->second.space;
    remove(entries_.begin()->first);
    drop_if_empty(space);
  }
}

std::vector<state::RowId> PrefixCache::rows() const {
  std::vector<state::RowId> rows;
  rows.reserve(entries_.size() + 1);
  for (const auto& [id, entry] : entries_) rows.push_back(entry.row);
  return rows;
}

size_t PrefixCache::bytes() const { return *kv_.live_bytes_of(rows()); }

PrefixStats PrefixCache::stats() const {
  PrefixStats stats = stats_;
  stats.entries = std::ssize(entries_);
  return stats;
}

}  // namespace kvern::engine
