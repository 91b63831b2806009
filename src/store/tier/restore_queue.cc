#include "store/tier/restore_queue.h"

#include <algorithm>
#include <utility>

namespace kvern::store {

/// One restore. All is guarded by Shared::mutex but what is said to be constant.
struct RestoreQueue::Job {
  std::shared_ptr<const PrefixSpace> space;  // constant
  std::vector<int32_t> prompt;               // constant
  IndexHit hit;                              // constant
  bool loading = false;
  bool loaded = false;  // manifest and order are constant from then on
  bool cancelled = false;
  std::shared_ptr<const Manifest> manifest;
  state::RowShape shape;
  std::vector<size_t> order;  // pieces by position
  size_t next = 0;            // of order, to be read
  int reading = 0;            // batches that are being read
  int64_t until = 0;
  uint64_t ready_bytes = 0;
  std::deque<RestoredPiece> ready;

  bool wants_read(uint64_t ahead_bytes) const {
    return loaded && !cancelled && next < order.size() && ready_bytes < ahead_bytes;
  }
  bool finished() const {
    return cancelled || (loaded && next >= order.size() && reading == 0 && ready.empty());
  }
};

struct Distrusted {
  std::shared_ptr<const PrefixSpace> space;
  std::vector<int32_t> tokens;
};

struct RestoreQueue::Shared {
  RestoreSource& source;
  RestoreQueueOptions options;
  Mutex mutex;
  std::condition_variable_any changed;
  std::vector<std::shared_ptr<Job>> jobs KVERN_GUARDED_BY(mutex);
  std::deque<Distrusted> distrusted KVERN_GUARDED_BY(mutex);
  bool stop KVERN_GUARDED_BY(mutex) = false;
};

class RestoreQueue::Restore final : public TierRestore {
 public:
  Restore(std::shared_ptr<Shared> shared, std::shared_ptr<Job> job)
      : shared_(std::move(shared)), job_(std::move(job)) {}
  ~Restore() override {
    const MutexLock lock(shared_->mutex);
    job_->cancelled = true;
    job_->ready.clear();
    std::erase(shared_->jobs, job_);
    shared_->changed.notify_all();
  }

  const state::RowShape* shape(std::chrono::steady_clock::time_point deadline) override {
    const MutexLock lock(shared_->mutex);
    while (!job_->loaded && !job_->cancelled) {
      if (shared_->changed.wait_until(shared_->mutex, deadline) == std::cv_status::timeout) break;
    }
    return job_->manifest != nullptr ? &job_->shape : nullptr;
  }

  int64_t minimum_reusable() const override {
    const MutexLock lock(shared_->mutex);
    return job_->manifest != nullptr ? job_->manifest->minimum_reusable : 0;
  }

  std::optional<RestoredPiece> take() override {
    const MutexLock lock(shared_->mutex);
    if (job_->ready.empty()) return std::nullopt;
    RestoredPiece piece = std::move(job_->ready.front());
    job_->ready.pop_front();
    job_->ready_bytes -= piece.bytes.size();
    shared_->changed.notify_all();
    return piece;
  }

  void wait(std::chrono::steady_clock::time_point deadline) override {
    const MutexLock lock(shared_->mutex);
    while (job_->ready.empty() && !job_->finished()) {
      if (shared_->changed.wait_until(shared_->mutex, deadline) == std::cv_status::timeout) return;
    }
  }

  bool finished() const override {
    const MutexLock lock(shared_->mutex);
    return job_->finished();
  }

  int64_t until() const override {
    const MutexLock lock(shared_->mutex);
    return job_->until;
  }

 private:
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<Job> job_;
};

RestoreQueue::RestoreQueue(RestoreSource& source, const RestoreQueueOptions& options)
    : shared_(new Shared{.source = source, .options = options}) {
  for (int i = 0; i < std::max(1, options.threads); ++i)
    threads_.emplace_back([shared = shared_] { run(shared); });
}

RestoreQueue::~RestoreQueue() {
  {
    const MutexLock lock(shared_->mutex);
    shared_->stop = true;
    for (const auto& job : shared_->jobs) job->cancelled = true;
    shared_->jobs.clear();
    shared_->changed.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

std::unique_ptr<TierRestore> RestoreQueue::start(std::shared_ptr<const PrefixSpace> space,
                                                 std::span<const int32_t> prompt, const IndexHit& hit) {
  auto job = std::make_shared<Job>();
  job->space = std::move(space);
  job->prompt.assign(prompt.begin(), prompt.begin() + hit.tokens);
  job->hit = hit;
  job->until = hit.tokens;
  const MutexLock lock(shared_->mutex);
  shared_->jobs.push_back(job);
  shared_->changed.notify_all();
  return std::make_unique<Restore>(shared_, std::move(job));
}

void RestoreQueue::distrust(std::shared_ptr<const PrefixSpace> space, std::vector<int32_t> tokens) {
  const MutexLock lock(shared_->mutex);
  shared_->distrusted.push_back({std::move(space), std::move(tokens)});
  shared_->changed.notify_all();
}

// Each round takes the first job that has something to do; a job that is full lets the others go on.
void RestoreQueue::run(const std::shared_ptr<Shared>& shared) {
  shared->mutex.lock();
  while (!shared->stop) {
    if (!shared->distrusted.empty()) {
      const Distrusted bad = std::move(shared->distrusted.front());
      shared->distrusted.pop_front();
      shared->mutex.unlock();
      shared->source.distrust(*bad.space, bad.tokens);
      shared->mutex.lock();
      continue;
    }
    std::shared_ptr<Job> job;
    for (const auto& candidate : shared->jobs) {
      if ((!candidate->loaded && !candidate->loading) || candidate->wants_read(shared->options.ahead_bytes)) {
        job = candidate;
        break;
      }
    }
    if (job == nullptr) {
      shared->changed.wait(shared->mutex);
      continue;
    }
    const bool load_first = !job->loaded;
    job->loading = true;
    const std::vector<size_t> batch = load_first ? std::vector<size_t>() : next_batch(*shared, *job);
    shared->mutex.unlock();
    std::vector<Result<LoadedPiece>> loaded;
    if (load_first) {
      load(*shared, *job);
    } else {
      loaded = shared->source.read(*job->manifest, batch);
    }
    shared->mutex.lock();
    if (!load_first) deliver(*job, batch, std::move(loaded));
    // The others of equal right come first next time.
    const auto place = std::ranges::find(shared->jobs, job);
    if (place != shared->jobs.end()) std::rotate(place, place + 1, shared->jobs.end());
    shared->changed.notify_all();
  }
  shared->mutex.unlock();
}

void RestoreQueue::load(Shared& shared, Job& job) {
  auto manifest = shared.source.load(*job.space, job.prompt, job.hit);
  std::vector<size_t> order;
  if (manifest) {
    for (size_t i = 0; i < manifest->pieces.size(); ++i) {
      const ManifestPiece& piece = manifest->pieces[i];
      const bool uncut = manifest->stores[piece.store].kind == StateKind::kRecurrent;
      if (uncut || piece.positions.begin < job.hit.tokens) order.push_back(i);
    }
    std::ranges::sort(order, {}, [&](size_t i) { return std::pair(manifest->pieces[i].positions.begin, i); });
  }
  const MutexLock lock(shared.mutex);
  job.loaded = true;
  if (!manifest) {
    job.until = 0;
    return;
  }
  job.shape = manifest->shape();
  job.order = std::move(order);
  job.manifest = std::make_shared<const Manifest>(*std::move(manifest));
}

uint64_t RestoreQueue::bytes_of(const Job& job, size_t index) {
  const Manifest& m = *job.manifest;
  const ManifestPiece& piece = m.pieces[index];
  return static_cast<uint64_t>(piece.positions.size()) * m.stores[piece.store].store.bytes_per_position;
}

// What to read now; with the mutex held, as deliver().
std::vector<size_t> RestoreQueue::next_batch(const Shared& shared, Job& job) {
  std::vector<size_t> batch;
  uint64_t bytes = 0;
  while (job.next < job.order.size() && (batch.empty() || bytes < shared.options.batch_bytes)) {
    batch.push_back(job.order[job.next++]);
    bytes += bytes_of(job, batch.back());
  }
  ++job.reading;
  job.ready_bytes += bytes;  // so that others do not read too far ahead meanwhile
  return batch;
}

void RestoreQueue::deliver(Job& job, std::span<const size_t> batch, std::vector<Result<LoadedPiece>> loaded) {
  --job.reading;
  for (const size_t index : batch) job.ready_bytes -= bytes_of(job, index);
  for (size_t i = 0; i < batch.size() && !job.cancelled; ++i) {
    const ManifestPiece& piece = job.manifest->pieces[batch[i]];
    if (!loaded[i]) {
      const bool uncut = job.manifest->stores[piece.store].kind == StateKind::kRecurrent;
      job.until = std::min(job.until, uncut ? 0 : piece.positions.begin);
      job.next = job.order.size();
      continue;
    }
    // The bytes are in a buffer of their own, or in the manifest.
    struct Owner {
      std::shared_ptr<const Manifest> manifest;
      AlignedBuffer buffer;
    };
    const auto owner = std::make_shared<Owner>(Owner{job.manifest, std::move(loaded[i]->buffer)});
    job.ready_bytes += loaded[i]->bytes.size();
    job.ready.push_back({piece.store, piece.positions, loaded[i]->bytes, owner});
  }
}

}  // namespace kvern::store
