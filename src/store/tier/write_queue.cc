#include "store/tier/write_queue.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <time.h>

namespace kvern::store {
namespace {

constexpr std::chrono::seconds kLongestRest{10};

/// How long the calling thread has been on a processor; nothing where the system does not say.
std::chrono::nanoseconds time_on_processor() {
#ifdef CLOCK_THREAD_CPUTIME_ID
  timespec time{};
  if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0)
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
#endif
  return {};
}

}  // namespace

WriteQueue::WriteQueue(std::string name, Save save, LogSink& log, const WriteQueueOptions& options)
    : name_(std::move(name)), save_(std::move(save)), log_(log), options_(options), thread_([this] {
        run();
      }) {}

WriteQueue::~WriteQueue() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

bool WriteQueue::push(NewEntry entry) {
  const uint64_t bytes = entry.bytes();
  std::deque<Item> dropped;  // released behind the lock
  const MutexLock lock(mutex_);
  if (bytes > options_.max_bytes) {
    ++counts_.declined;
    return false;
  }
  while (!waiting_.empty() && waiting_bytes_ + bytes > options_.max_bytes) {
    waiting_bytes_ -= waiting_.front().bytes;
    dropped.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    ++counts_.dropped;
  }
  waiting_.push_back({next_number_++, bytes, std::move(entry)});
  waiting_bytes_ += bytes;
  changed_.notify_all();
  return true;
}

void WriteQueue::set_busy(bool busy) {
  const MutexLock lock(mutex_);
  busy_ = busy;
  if (!busy) changed_.notify_all();
}

// So long that what was done since the last rest is no more than the share. It is the only way that every
// system has: threads of low priority get nothing where something else keeps all processors busy, and hold
// locks meanwhile.
void WriteQueue::rest() {
  const std::chrono::nanoseconds worked = time_on_processor();
  const std::chrono::nanoseconds since = worked - std::exchange(worked_, worked);
  const double share = options_.busy_share * std::max(1U, std::thread::hardware_concurrency());
  if (share >= 1) return;
  const std::chrono::duration<double> pause = std::min<std::chrono::duration<double>>(
      since * (1 / share - 1), std::chrono::duration<double>(kLongestRest));
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(pause);
  const MutexLock lock(mutex_);
  while (busy_ && flushes_ == 0 && !stop_) {
    if (changed_.wait_until(mutex_, until) == std::cv_status::timeout) return;
  }
}

void WriteQueue::report(const Result<bool>& saved) {
  const bool failed_before = std::exchange(failing_, !saved);
  if (!saved && !failed_before)
    log_.log(LogLevel::kWarning, "a prefix cannot be saved (" + name_ + "): " + saved.error().to_string());
}

void WriteQueue::run() {
  mutex_.lock();
  while (true) {
    while (!stop_ && waiting_.empty()) changed_.wait(mutex_);
    if (stop_) break;
    std::optional<Item> item = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= item->bytes;
    in_flight_ = item->number;
    mutex_.unlock();
    item->entry.between_pieces = [this] { rest(); };
    const Result<bool> saved = save_(item->entry);
    report(saved);
    item.reset();  // what it pins is free before anybody hears of it
    mutex_.lock();
    ++(!saved ? counts_.failed : *saved ? counts_.saved : counts_.declined);
    in_flight_ = 0;
    changed_.notify_all();
  }
  mutex_.unlock();
}

// Of the entries up to a number, those that wait or are being saved.
uint64_t WriteQueue::left(uint64_t last) const {
  uint64_t count = in_flight_ != 0 && in_flight_ <= last ? 1 : 0;
  for (const Item& item : waiting_) count += item.number <= last ? 1 : 0;
  return count;
}

FlushReport WriteQueue::flush(std::chrono::steady_clock::time_point deadline) {
  const MutexLock lock(mutex_);
  const uint64_t last = next_number_ - 1;
  const TierStats before = counts_;
  ++flushes_;
  changed_.notify_all();
  while (left(last) > 0) {
    if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) break;
  }
  --flushes_;
  FlushReport report{.saved = counts_.saved - before.saved,
                     .dropped = counts_.dropped - before.dropped,
                     .failed = counts_.failed - before.failed,
                     .left = left(last)};
  report.durable = report.left == 0 && report.dropped == 0 && report.failed == 0;
  return report;
}

TierStats WriteQueue::stats() {
  const MutexLock lock(mutex_);
  TierStats stats = counts_;
  stats.name = name_;
  stats.pending = waiting_.size() + (in_flight_ != 0 ? 1 : 0);
  stats.pending_bytes = waiting_bytes_;
  return stats;
}

}  // namespace kvern::store
