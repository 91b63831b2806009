// The bound of what stands outside. Rows move out when what runs outgrows the budget; how much that may come
// to be is bounded beforehand, since a row that has begun is never given up.
#include <algorithm>
#include <utility>

#include "engine/loop/batch.h"

namespace kvern::engine {

bool Batch::bounds_outside() const { return engine_.kv().options().budget_bytes != 0; }

// Requests that have rows in the batch or outside, oldest first.
std::vector<Request*> Batch::standing_requests() const {
  std::vector<Request*> requests;
  for (const auto* rows : {&running_, &outside_}) {
    for (const Row* row : *rows) requests.push_back(row->request);
  }
  std::ranges::sort(requests, {}, &Request::order);
  const auto repeated = std::ranges::unique(requests);
  requests.erase(repeated.begin(), repeated.end());
  return requests;
}

Standing Batch::standing_of(const Request& request, Growth growth) const {
  Standing standing{.final_bytes = request.final_bytes};
  for (const auto& row : request.rows) {
    if (row->open && (row->kv || row->image)) standing.outside_bytes += storage_.standing_bytes(*row, growth);
  }
  return standing;
}

// Whether a row that is not in the batch yet may join those that are there.
bool Batch::may_join(Row& row) const {
  if (!bounds_outside()) return true;
  const std::vector<Request*> requests = standing_requests();
  if (requests.empty()) return true;
  std::vector<Row*> others(outside_);
  others.push_back(&row);
  if (storage_.all_fit(running_, others)) return true;
  const Standing joins{.outside_bytes = storage_.standing_bytes(row, Growth::kSoon),
                       .final_bytes = row.request->final_bytes};
  std::vector<Standing> standings;
  standings.reserve(requests.size() + 1);
  bool placed = false;
  for (const Request* request : requests) {
    // One that waited for a beginning of its prompt has its age from before.
    const bool before = row.request->order != 0 && row.request->order < request->order;
    if (before && !std::exchange(placed, true)) standings.push_back(joins);
    const bool rests = std::ranges::all_of(request->rows, [](const auto& each) { return each->rests; });
    standings.push_back(standing_of(*request, rests ? Growth::kNone : Growth::kSoon));
  }
  if (!placed) standings.push_back(joins);
  return all_can_end(standings, engine_.kv().options().budget_bytes, *options_.outside_bytes);
}

// Says which rows may take their next tokens, the oldest first, and holds for as many steps as these last.
void Batch::look_outside() {
  if (!bounds_outside() || steps_to_look_-- > 0) return;
  steps_to_look_ = kHeadroomTokens - 1;
  const auto set_rests = [](const Request& request, bool rests) {
    for (const auto& row : request.rows) row->rests = rests;
  };
  const std::vector<Request*> requests = standing_requests();
  if (requests.size() < 2 || storage_.all_fit(running_, outside_)) {
    for (const Request* request : requests) set_rests(*request, false);
    return;
  }
  std::vector<Standing> standings;
  standings.reserve(requests.size());
  for (const Request* request : requests) standings.push_back(standing_of(*request, Growth::kNone));
  for (size_t i = 0; i < requests.size(); ++i) {
    const Standing now = standings[i];
    standings[i] = standing_of(*requests[i], Growth::kSoon);
    const bool goes_on =
        i == 0 || all_can_end(standings, engine_.kv().options().budget_bytes, *options_.outside_bytes);
    if (!goes_on) standings[i] = now;
    set_rests(*requests[i], !goes_on);
  }
}

// Whether this row, and all that are newer, may stand outside beside those that do.
bool Batch::may_leave(const Row& row) const {
  if (!bounds_outside()) return true;
  size_t bytes = storage_.outside_bytes();
  for (size_t i = running_.size(); i-- > 0;) {
    if (running_[i]->kv) bytes += storage_.standing_bytes(*running_[i]);
    if (running_[i] == &row) break;
  }
  return bytes <= *options_.outside_bytes;
}

// Moves out a row of a request that is newer than this one, for its choices.
bool Batch::give_way_to(const Request& request) {
  for (size_t i = running_.size(); i-- > 0;) {
    Row& row = *running_[i];
    if (row.request->order <= request.order) return false;
    if (!row.open || row.request->done || row.request->settling) continue;
    if (!may_leave(row)) return false;
    move_out(row);
    return true;
  }
  return false;
}

// All that are in the batch rest, since an older one, which stands outside, goes first: the newest leaves.
void Batch::free_for_older() {
  if (!running_.empty() && !outside_.empty()) move_out(*running_.back());
}

}  // namespace kvern::engine
