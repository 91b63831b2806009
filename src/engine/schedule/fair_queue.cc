#include "engine/schedule/fair_queue.h"

#include <algorithm>
#include <utility>

namespace kvern::engine {
namespace {

// Names of clients are what callers choose, so those that do not wait are not remembered without end.
constexpr size_t kMostIdleClients = 1024;

}  // namespace

void FairQueue::push(std::string_view client, QueueItem item) {
  const Client* first = least();
  const int64_t level = first != nullptr ? first->counter : counter(last_left_);
  Client& mine = known(client);
  if (mine.line.empty()) {
    mine.counter = std::max(mine.counter, level);
    waiting_.push_back(&mine);
  }
  mine.line.push_back({.item = item, .arrival = arrivals_++});
  ++size_;
  if (clients_.size() - waiting_.size() > 2 * kMostIdleClients) forget_idle();
}

FairQueue::Client& FairQueue::known(std::string_view name) {
  return clients_.try_emplace(std::string(name)).first->second;
}

const FairQueue::Client* FairQueue::least() const {
  const auto key = [](const Client* client) {
    return std::pair(client->counter, client->line.front().arrival);
  };
  const auto found = std::ranges::min_element(waiting_, {}, key);
  return found == waiting_.end() ? nullptr : *found;
}

std::optional<QueueItem> FairQueue::next() const {
  const Client* client = least();
  if (client == nullptr) return std::nullopt;
  return client->line.front().item;
}

bool FairQueue::remove(std::string_view client, QueueItem item) {
  const auto found = clients_.find(std::string(client));
  if (found == clients_.end()) return false;
  auto& line = found->second.line;
  const auto at = std::ranges::find(line, item, &Waiting::item);
  if (at == line.end()) return false;
  line.erase(at);
  --size_;
  if (line.empty()) {
    std::erase(waiting_, &found->second);
    last_left_ = found->first;
  }
  return true;
}

void FairQueue::charge(std::string_view client, const Service& service) {
  known(client).counter +=
      kPromptWeight * service.prompt_tokens + kGeneratedWeight * service.generated_tokens;
}

// Forgets clients that do not wait, those first whose counter is least: coming back, most of them would be
// lifted as far anyway.
void FairQueue::forget_idle() {
  std::vector<std::pair<int64_t, std::string>> idle;
  for (const auto& [name, client] : clients_) {
    if (client.line.empty() && name != last_left_) idle.emplace_back(client.counter, name);
  }
  if (idle.size() <= kMostIdleClients) return;
  std::ranges::sort(idle);
  idle.resize(idle.size() - kMostIdleClients);
  for (const auto& [counter, name] : idle) clients_.erase(name);
}

std::vector<QueueItem> FairQueue::items() const {
  std::vector<Waiting> waiting;
  waiting.reserve(size_);
  for (const auto& [name, client] : clients_) {
    waiting.insert(waiting.end(), client.line.begin(), client.line.end());
  }
  std::ranges::sort(waiting, {}, &Waiting::arrival);
  std::vector<QueueItem> items;
  items.reserve(waiting.size());
  for (const Waiting& one : waiting) items.push_back(one.item);
  return items;
}

int64_t FairQueue::counter(std::string_view client) const {
  const auto found = clients_.find(std::string(client));
  return found == clients_.end() ? 0 : found->second.counter;
}

}  // namespace kvern::engine
