// Beginnings of prompts that tiers have, and storage that tiers hold.
#include <algorithm>
#include <thread>
#include <utility>

#include "engine/loop/batch.h"
#include "engine/tiers/flush.h"

namespace kvern::engine {
namespace {

// What a restore copies in a step when no row runs: messages for the loop wait as long.
constexpr size_t kStepBytesAlone = size_t{64} << 20;
// A row that finds no storage, since all that is left is being saved, waits for so long at most.
constexpr std::chrono::seconds kLongestStarving{30};
constexpr std::chrono::milliseconds kStarvedPause{1};

bool begins_with(std::span<const TokenId> prompt, std::span<const TokenId> tokens) {
  return prompt.size() > tokens.size() && std::ranges::equal(prompt.first(tokens.size()), tokens);
}

}  // namespace

// A restore for another request that gives some of this prompt, and how much of it.
std::pair<Batch::Restoring*, int64_t> Batch::shared_restore(const Row& row) {
  std::pair<Restoring*, int64_t> best{nullptr, 0};
  const std::span<const TokenId> prompt = row.tokens;
  for (Restoring& each : restoring_) {
    if (each.restore->name_space() != row.request->spec.cache_namespace) continue;
    const auto tokens = each.restore->tokens();
    const int64_t common =
        std::ranges::mismatch(prompt.first(prompt.size() - 1), tokens).in2 - tokens.begin();
    const int64_t size = std::ssize(tokens);
    const bool usable = common == size || engine_.kv().projected_minimum_reusable_position(size) <= common;
    if (usable && common > best.second) best = {&each, common};
  }
  return best;
}

// Whether the request now waits for a beginning that a tier has: only for one that is longer, by enough, than
// the `known` tokens that it gets without.
Batch::TierAnswer Batch::ask_tiers(Request& request, int64_t known) {
  Tiers* tiers = storage_.tiers();
  if (tiers == nullptr || request.asked_tiers) return TierAnswer::kNothing;
  if (!begin(request)) return TierAnswer::kNothing;
  const Row& row = *request.rows.front();
  if (!storage_.shares(row)) return TierAnswer::kNothing;
  known = std::max(known, storage_.usable_tokens(row, running_));
  auto [shared, common] = shared_restore(row);
  if (common < known + tiers->options().least_tokens) shared = nullptr;
  if (shared != nullptr) known = common;
  // Rows that run wait for nobody: the answer is there in one of their next steps.
  if (!running_.empty() && !tiers->ready(request.spec.cache_namespace, row.tokens, known))
    return TierAnswer::kAsking;
  auto own = tiers->find(request.spec.cache_namespace, row.tokens, known);
  if (own == nullptr && shared == nullptr) {
    request.asked_tiers = true;
    return TierAnswer::kNothing;
  }
  if (!make_room(row, storage_.growth_bytes(row))) return TierAnswer::kNoRoom;
  request.asked_tiers = true;
  if (own != nullptr) {
    restoring_.push_back({.restore = std::move(own), .requests = {}});
    shared = &restoring_.back();
  }
  shared->requests.push_back(&request);
  return TierAnswer::kComing;
}

void Batch::step_tiers(TimePoint now) {
  Tiers* tiers = storage_.tiers();
  if (tiers == nullptr) return;
  tiers->writes().step(now);
  tell_tiers();
  if (std::exchange(saves_released_, tiers->writes().released()) != saves_released_) ++releases_;
  step_restores(now);
}

// Saving gives way to rows that run, unless they wait for it.
void Batch::tell_tiers() {
  if (Tiers* tiers = storage_.tiers(); tiers != nullptr)
    tiers->writes().set_busy(!running_.empty() && !starved_since_);
}

// Each brings a little. What it brings has had room when it began; when others have taken that, it is given
// up. One ends in a step at most, so that its requests start before another one takes their prefix's place.
void Batch::step_restores(TimePoint now) {
  for (size_t i = 0; i < restoring_.size(); ++i) {
    PrefixRestore& restore = *restoring_[i].restore;
    const size_t most = running_.empty() ? kStepBytesAlone : storage_.tiers()->options().step_bytes;
    auto progress = restore.step(most / restoring_.size(), now);
    while (progress == PrefixRestore::Progress::kNoRoom && storage_.evict_prefix())
      progress = restore.step(most / restoring_.size(), now);
    if (progress != PrefixRestore::Progress::kGoesOn) return end_restore(i);
  }
}

// Its requests start as others do that have waited for a prefix.
void Batch::end_restore(size_t index) {
  const auto made = restoring_[index].restore->finish();
  storage_.tiers()->count(*restoring_[index].restore, made ? made->tokens : 0);
  if (made) use_restored(restoring_[index], *made);
  give_up_restore(index);
}

void Batch::give_up_restore(size_t index) {
  for (Request* request : restoring_[index].requests) followers_.push_back({.request = request});
  restoring_.erase(restoring_.begin() + static_cast<ptrdiff_t>(index));
  ++releases_;
}

// A kept prefix, or when it is too large for that, the beginning of the first request that it fits.
void Batch::use_restored(const Restoring& restoring, const store::RowRestore::Row& made) {
  if (storage_.keep_restored(*restoring.restore, made)) return;
  const auto tokens = restoring.restore->tokens().first(static_cast<size_t>(made.tokens));
  for (Request* request : restoring.requests) {
    Row& row = *request->rows.front();
    if (!begins_with(row.tokens, tokens)) continue;
    row.kv = made.row;
    row.held = made.tokens;
    return;
  }
  storage_.remove(made.row);
}

// For rows that run: what is not computed yet can be computed later.
bool Batch::drop_restored_storage() {
  for (size_t i = restoring_.size(); i-- > 0;) {
    if (!restoring_[i].restore->holds_storage()) continue;
    storage_.tiers()->count(*restoring_[i].restore, 0);
    give_up_restore(i);
    return true;
  }
  for (size_t i = followers_.size(); i-- > 0;) {
    Request& request = *followers_[i].request;
    if (request.done || request.rows.empty() || !request.rows.front()->kv) continue;
    storage_.release(*request.rows.front(), AfterRow::kRemove);
    request.rows.front()->held = 0;
    return true;
  }
  return false;
}

// Room that is promised to requests which wait for tiers.
size_t Batch::restoring_bytes() const {
  size_t sum = 0;
  for (const Restoring& each : restoring_) {
    for (const Request* request : each.requests) sum += storage_.growth_bytes(*request->rows.front());
    if (each.restore->holds_storage()) {
      const size_t held = engine_.kv().projected_bytes(std::ssize(each.restore->tokens()));
      sum -= std::min(sum, held);
    }
  }
  return sum;
}

// Whether storage will come free that only tiers hold. What is then left to do is to wait.
bool Batch::wait_for_saves() {
  Tiers* tiers = storage_.tiers();
  if (tiers == nullptr || !tiers->writes().holds_storage()) return false;
  const TimePoint now = clock_.now();
  if (!starved_since_) starved_since_ = now;
  if (now - *starved_since_ > kLongestStarving) return false;
  std::this_thread::sleep_for(kStarvedPause);
  return true;
}

std::optional<TimePoint> Batch::next_step() const {
  const Tiers* tiers = storage_.tiers();
  return tiers == nullptr ? std::nullopt : tiers->writes().next_step();
}

void Batch::begin_flush() {
  if (Tiers* tiers = storage_.tiers(); tiers != nullptr) tiers->writes().hasten();
}

bool Batch::saves_left() const {
  const Tiers* tiers = storage_.tiers();
  return tiers != nullptr && tiers->writes().hastened() > 0;
}

std::vector<KeptTokens> Batch::to_be_saved() const {
  const Tiers* tiers = storage_.tiers();
  return tiers == nullptr ? std::vector<KeptTokens>() : tiers->writes().hastened_tokens();
}

FlushReport Batch::flush(TimePoint deadline) {
  TierFlush flush(options_.tiers.tiers, stats().prefixes_lost);
  begin_flush();
  while (saves_left() && clock_.now() < deadline) {
    step_tiers(clock_.now());
    if (saves_left()) std::this_thread::sleep_for(kStarvedPause);
  }
  return flush.finish(deadline,
                      {.lost = stats().prefixes_lost, .left = saves_left() ? 1U : 0U, .kept = to_be_saved()});
}

}  // namespace kvern::engine
