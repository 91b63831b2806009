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

struct ThreadPool::Impl {
  // A job is published by the increment of `generation` and finished when `running` is back at zero; the
  // plain members are written only between the two, by the caller.
  std::atomic<uint64_t> generation{0};
  std::atomic<int> running{0};
  std::atomic<int64_t> next{0};
  std::atomic<bool> stopping{false};
  int64_t count = 0;
  ErasedTask task = nullptr;
  const void* context = nullptr;
  std::vector<std::jthread> workers;

  void take_tasks(int thread) {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) task(context, i, thread);
  }

  void work(int thread) {
    for (uint64_t seen = 0;;) {
      wait_for_change(generation, seen);
      ++seen;
      if (stopping.load(std::memory_order_acquire)) return;
      take_tasks(thread);
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) running.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>()) {
  KVERN_CHECK(threads >= 1);
  for (int thread = 1; thread < threads; ++thread) {
    impl_->workers.emplace_back([impl = impl_.get(), thread] { impl->work(thread); });
  }
}

ThreadPool::~ThreadPool() {
  impl_->stopping.store(true, std::memory_order_release);
  impl_->generation.fetch_add(1, std::memory_order_release);
  impl_->generation.notify_all();
}

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
  impl_->running.store(static_cast<int>(impl_->workers.size()), std::memory_order_relaxed);
  impl_->generation.fetch_add(1, std::memory_order_release);
  impl_->generation.notify_all();
  impl_->take_tasks(0);
  for (int left; (left = impl_->running.load(std::memory_order_acquire)) != 0;) {
    wait_for_change(impl_->running, left);
  }
}

}  // namespace kvern::compute
