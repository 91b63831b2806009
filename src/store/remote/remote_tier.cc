#include "store/remote/remote_tier.h"

#include <cstring>
#include <utility>

namespace kvern::store {
namespace {

/// Questions that wait at a time; the server is slower than they come then.
constexpr size_t kMostQuestions = 32;
constexpr size_t kMostSaved = size_t{1} << 16;
/// After that it is asked for once more: the server may have needed the room.
constexpr std::chrono::minutes kSavedFor{10};
// An answer that nobody came for is out of date.
constexpr std::chrono::seconds kKeptFor{1};

uint64_t key_of(const PrefixSpace& space, std::span<const int32_t> tokens) {
  const std::span<const std::byte> parts[] = {space.root, std::as_bytes(tokens)};
  const Xxh3Digest128 digest = xxh3_128(parts);
  uint64_t key = 0;
  std::memcpy(&key, digest.data(), sizeof key);
  return key;
}

}  // namespace

RemoteTier::RemoteTier(RemoteStore& store, LogSink& log, const RemoteTierOptions& options)
    : store_(store),
      lookup_wait_(options.lookup_wait),
      restores_(store, options.restores),
      writes_(
          "remote", [this](const NewEntry& entry) { return save(entry); }, log, options.writes),
      thread_([this] { answer_questions(); }) {}

RemoteTier::~RemoteTier() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

bool RemoteTier::offer(NewEntry entry) {
  if (store_.may_call()) return writes_.push(std::move(entry));
  const MutexLock lock(mutex_);
  ++refused_;
  return false;
}

Result<bool> RemoteTier::save(const NewEntry& entry) {
  KVERN_TRY(const bool saved, store_.put(entry));
  if (saved) remember(entry);
  return saved;
}

void RemoteTier::remember(const NewEntry& entry) {
  const uint64_t key = key_of(*entry.space, entry.tokens);
  const MutexLock lock(saved_mutex_);
  // What is forgotten is offered once more, and found to be there.
  if (saved_.size() >= kMostSaved) saved_.clear();
  saved_[key] = std::chrono::steady_clock::now() + kSavedFor;
}

bool RemoteTier::covers(const PrefixSpace& space, std::span<const int32_t> tokens) {
  const uint64_t key = key_of(space, tokens);
  const uint64_t losses = store_.losses();
  const MutexLock lock(saved_mutex_);
  if (std::exchange(losses_, losses) != losses) saved_.clear();
  const auto found = saved_.find(key);
  return found != saved_.end() && std::chrono::steady_clock::now() < found->second;
}

// Null when too many wait already.
std::shared_ptr<RemoteTier::Question> RemoteTier::ask(const std::shared_ptr<const PrefixSpace>& space,
                                                      std::span<const int32_t> prompt) {
  if (questions_.size() >= kMostQuestions) return nullptr;
  auto question = std::make_shared<Question>();
  question->space = space;
  question->prompt.assign(prompt.begin(), prompt.end());
  question->until = std::chrono::steady_clock::now() + lookup_wait_;
  questions_.push_back(question);
  changed_.notify_all();
  return question;
}

std::shared_ptr<RemoteTier::Question> RemoteTier::asked_ahead(const PrefixSpace& space,
                                                              std::span<const int32_t> prompt) {
  const auto found = std::ranges::find_if(ahead_, [&](const auto& question) {
    return question->space->root == space.root && std::ranges::equal(question->prompt, prompt);
  });
  return found == ahead_.end() ? nullptr : *found;
}

bool RemoteTier::ready(const std::shared_ptr<const PrefixSpace>& space, std::span<const int32_t> prompt) {
  if (!store_.may_call()) return true;
  const MutexLock lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(ahead_, [&](const auto& question) { return question->until + kKeptFor < now; });
  if (const auto question = asked_ahead(*space, prompt); question != nullptr)
    return question->answered || now >= question->until;
  auto question = ask(space, prompt);
  if (question == nullptr) return true;
  if (ahead_.size() >= kMostQuestions) ahead_.pop_front();
  ahead_.push_back(std::move(question));
  return false;
}

std::optional<TierHit> RemoteTier::lookup(std::shared_ptr<const PrefixSpace> space,
                                          std::span<const int32_t> prompt, int64_t more_than) {
  if (!store_.may_call() || std::ssize(prompt) - 1 <= more_than) return std::nullopt;
  std::shared_ptr<Question> question;
  {
    const MutexLock lock(mutex_);
    question = asked_ahead(*space, prompt);
    if (question != nullptr) {
      std::erase(ahead_, question);
    } else {
      question = ask(space, prompt);
    }
    while (question != nullptr && !question->answered) {
      if (changed_.wait_until(mutex_, question->until) == std::cv_status::timeout) break;
    }
    if (question == nullptr || !question->answered) {
      ++late_;
      std::erase(questions_, question);
      return std::nullopt;
    }
  }
  if (!question->hit || question->hit->tokens <= more_than) return std::nullopt;
  return TierHit{.tokens = question->hit->tokens,
                 .restore = restores_.start(std::move(space), prompt, *question->hit)};
}

void RemoteTier::answer_questions() {
  mutex_.lock();
  while (true) {
    while (!stop_ && questions_.empty()) changed_.wait(mutex_);
    if (stop_) break;
    const auto question = std::move(questions_.front());
    questions_.pop_front();
    mutex_.unlock();
    const auto hit = store_.find(*question->space, question->prompt);
    mutex_.lock();
    if (hit) question->hit = *hit;
    question->answered = true;
    changed_.notify_all();
  }
  mutex_.unlock();
}

Status RemoteTier::erase(const PrefixSpace& space, std::span<const int32_t> tokens) {
  return store_.erase(space, tokens);
}

TierStats RemoteTier::stats() {
  TierStats stats = writes_.stats();
  const RemoteStats store = store_.stats();
  stats.lookups = store.lookups;
  stats.hits = store.hits;
  stats.blocks_written = store.blocks_written;
  stats.blocks_reused = store.blocks_reused;
  stats.bytes_written = store.bytes_written;
  stats.bytes_read = store.bytes_read;
  stats.damaged = store.damaged;
  stats.unanswered = store.failures;
  const MutexLock lock(mutex_);
  stats.late = late_;
  stats.declined += refused_;
  return stats;
}

}  // namespace kvern::store
