#include "server/protocol/responses/response_store.h"

#include <utility>

namespace kvern::server::responses {

std::shared_ptr<const Turn> ResponseStore::make_turn(const json::array& input, const json::array& output) {
  return make_turn(Turn{.input = to_json(input), .output = to_json(output)});
}

std::shared_ptr<const Turn> ResponseStore::make_turn(Turn made) {
  auto turn = std::make_unique<Turn>(std::move(made));
  const size_t bytes = sizeof(Turn) + turn->input.size() + turn->output.size();
  *bytes_ += bytes;
  return {turn.release(), [meter = bytes_, bytes](const Turn* gone) {
            *meter -= bytes;
            delete gone;
          }};
}

void ResponseStore::put(const std::string& client, const std::string& id, StoredResponse response) {
  const size_t bytes =
      sizeof(Entry) + response.body.size() + response.turns.size() * sizeof(Turns::value_type);
  const MutexLock lock(mutex_);
  if (by_id_.contains(id)) return;
  *bytes_ += bytes;
  entries_.push_back(
      {.client = client, .id = id, .response = std::move(response), .bytes = bytes, .stored = clock_.now()});
  by_id_.emplace(id, std::prev(entries_.end()));
  forget_old();
}

void ResponseStore::forget(Entries::iterator entry) {
  *bytes_ -= entry->bytes;
  by_id_.erase(entry->id);
  entries_.erase(entry);
}

void ResponseStore::forget_old() {
  const auto oldest = clock_.now() - limits_.kept_for;
  while (!entries_.empty() && (entries_.size() > limits_.max_responses || *bytes_ > limits_.max_bytes ||
                               entries_.front().stored < oldest))
    forget(entries_.begin());
}

ResponseStore::Entry* ResponseStore::entry_of(const std::string& client, const std::string& id) {
  forget_old();
  const auto found = by_id_.find(id);
  return found == by_id_.end() || found->second->client != client ? nullptr : &*found->second;
}

std::optional<StoredResponse> ResponseStore::find(const std::string& client, const std::string& id) {
  const MutexLock lock(mutex_);
  const Entry* entry = entry_of(client, id);
  return entry == nullptr ? std::nullopt : std::optional(entry->response);
}

bool ResponseStore::erase(const std::string& client, const std::string& id) {
  const MutexLock lock(mutex_);
  if (entry_of(client, id) == nullptr) return false;
  forget(by_id_.at(id));
  return true;
}

size_t ResponseStore::size() const {
  const MutexLock lock(mutex_);
  return entries_.size();
}

}  // namespace kvern::server::responses
