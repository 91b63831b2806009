#include "server/http/worker_pool.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "server/http/test_server.h"

namespace kvern::test {
namespace {

using server::WorkerPool;

class RememberingLog : public LogSink {
 public:
  void log(LogLevel, std::string_view message) override {
    const std::lock_guard lock(mutex_);
    text_ += message;
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

TEST(WorkerPool, RefusesWhenTooManyWait) {
  Signal entered;
  Signal release;
  std::atomic<int> ran{0};
  WorkerPool pool({.threads = 1, .capacity = 2}, null_log());
  EXPECT_TRUE(pool.try_post([&] {
    entered.set();
    release.wait();
  }));
  ASSERT_TRUE(entered.wait());
  EXPECT_TRUE(pool.try_post([&] { ++ran; }));
  EXPECT_TRUE(pool.try_post([&] { ++ran; }));
  EXPECT_FALSE(pool.try_post([&] { ++ran; }));
  EXPECT_EQ(pool.waiting(), 2U);
  Signal last;
  pool.post([&] { last.set(); });
  release.set();
  ASSERT_TRUE(last.wait());
  EXPECT_EQ(ran, 2);
}

TEST(WorkerPool, WhatATaskThrowsEndsThatTaskAlone) {
  RememberingLog log;
  Signal after;
  WorkerPool pool({.threads = 1}, log);
  pool.post([] { throw std::runtime_error("the reason"); });
  pool.post([&] { after.set(); });
  ASSERT_TRUE(after.wait());
  EXPECT_NE(log.text().find("the reason"), std::string::npos);
}

TEST(WorkerPool, DropsWhatWaitsWhenItEnds) {
  const auto owned = std::make_shared<int>(0);
  {
    Signal entered;
    Signal release;
    std::thread releaser;
    WorkerPool pool({.threads = 1}, null_log());
    pool.post([&] {
      entered.set();
      release.wait();
    });
    for (int i = 0; i < 10; ++i) pool.post([owned] { ++*owned; });
    ASSERT_TRUE(entered.wait());
    release.set();
  }
  EXPECT_EQ(owned.use_count(), 1);
}

}  // namespace
}  // namespace kvern::test
