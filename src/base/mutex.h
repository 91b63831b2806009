// std::mutex with clang's thread-safety annotations: `-Wthread-safety` then proves which members a lock
// guards.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define KVERN_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define KVERN_THREAD_ANNOTATION(x)
#endif
#define KVERN_GUARDED_BY(m) KVERN_THREAD_ANNOTATION(guarded_by(m))
#define KVERN_REQUIRES(...) KVERN_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))

namespace kvern {

class KVERN_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() KVERN_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() KVERN_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

/// Holds a Mutex for a scope. A std::condition_variable_any waits on the Mutex itself while one of these
/// holds it.
class KVERN_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) KVERN_THREAD_ANNOTATION(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() KVERN_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace kvern
