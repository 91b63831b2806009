#include "compute/threads/pool.h"

#include <atomic>
#include <thread>
#include <vector>

#include "base/check.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kvern::compute {
namespace {

// About 30 us of pauses on current x86: longer than the serial code between two kernels of a layer, much
// shorter than a time slice, so that a machine with fewer free cores than threads loses little.
constexpr int kSpins = 1500;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

/// Returns when `value` differs from `old`: spins first, then sleeps in the kernel.
template <typename T>
void wait_for_change(const std::atomic<T>& value, T old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

// A job is closed when the caller finds no task left, and waits then only for the workers that are inside. A
// worker that the system has not woken by then misses the job instead of holding it up: with more threads
// than free cores, waiting for everybody would cost a time slice at every kernel.
struct ThreadPool::Impl {
  static constexpr uint32_t kOpen = uint32_t{1} << 31;  // workers may enter; below it, how many are inside

  std::atomic<uint32_t> job{0};         // kOpen or 0, plus the workers inside
  std::atomic<uint64_t> generation{0};  // of jobs, for sleeping; `job` changes too often
  std::atomic<int64_t> next{0};
  std::atomic<bool> stopping{false};
  // Written by the caller while the job is closed and empty, read by who is inside.
  int64_t count = 0;
  ErasedTask task = nullptr;
  const void* context = nullptr;
  std::vector<std::jthread> workers;

  // Also where a worker could not be started: those before it wait for a job.
  ~Impl() {
    stopping.store(true, std::memory_order_release);
    generation.fetch_add(1, std::memory_order_release);
    generation.notify_all();
  }

  void take_tasks(int thread) {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) task(context, i, thread);
  }

  bool enter() {
    uint32_t seen = job.load(std::memory_order_relaxed);
    while ((seen & kOpen) != 0) {
      if (job.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  void leave() {
    if (job.fetch_sub(1, std::memory_order_release) == 1) job.notify_one();  // closed, and this was the last
  }

  void work(int thread) {
    for (uint64_t seen = 0;;) {
      wait_for_change(generation, seen);
      seen = generation.load(std::memory_order_acquire);
      if (stopping.load(std::memory_order_acquire)) return;
      if (!enter()) continue;
      take_tasks(thread);
      leave();
    }
  }
};

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>()) {
  KVERN_CHECK(threads >= 1);
  for (int thread = 1; thread < threads; ++thread) {
    impl_->workers.emplace_back([impl = impl_.get(), thread] { impl->work(thread); });
  }
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const { return static_cast<int>(impl_->workers.size()) + 1; }

void ThreadPool::run_erased(int64_t count, ErasedTask task, const void* context) {
  if (impl_->workers.empty() || count <= 1) {
    for (int64_t i = 0; i < count; ++i) task(context, i, 0);
    return;
  }
  impl_->task = task;
  impl_->context = context;
  impl_->count = count;
  impl_->next.store(0, std::memory_order_relaxed);
  impl_->job.store(Impl::kOpen, std::memory_order_release);
  impl_->generation.fetch_add(1, std::memory_order_release);
  impl_->generation.notify_all();
  impl_->take_tasks(0);
  impl_->job.fetch_and(~Impl::kOpen, std::memory_order_relaxed);
  for (uint32_t inside; (inside = impl_->job.load(std::memory_order_acquire)) != 0;) {
    wait_for_change(impl_->job, inside);
  }
}

}  // namespace kvern::compute
