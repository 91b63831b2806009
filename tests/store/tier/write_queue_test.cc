// The queue of saves: order, bound, what is dropped, and what flush may promise. No test measures time; gates
// hold the queue's thread where a test wants it.
#include "store/tier/write_queue.h"

#include <future>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/entries.h"
#include "support/result_matchers.h"

namespace kvern::store {
namespace {

using std::chrono::steady_clock;
using testing::ElementsAre;

constexpr auto kForEver = std::chrono::hours(1);

// Entries of 32 tokens, 24 bytes each, that are known by their first token.
NewEntry entry(int32_t name) {
  static const auto space = test::space_named("model");
  std::vector<int32_t> tokens(32, 1);
  tokens[0] = name;
  return test::make_entry(space, tokens);
}
constexpr uint64_t kEntryBytes = 32 * 24;

// Saves only what it is let.
class Gate {
 public:
  Result<bool> save(const NewEntry& entry) {
    const MutexLock lock(mutex_);
    started_.push_back(entry.tokens[0]);
    changed_.notify_all();
    while (permits_ == 0) changed_.wait(mutex_);
    --permits_;
    if (entry.tokens[0] < 0) return fail(ErrorCode::kIo, "as told");
    saved_.push_back(entry.tokens[0]);
    return true;
  }
  void let(int count) {
    const MutexLock lock(mutex_);
    permits_ += count;
    changed_.notify_all();
  }
  void wait_started(size_t count) {
    const MutexLock lock(mutex_);
    while (started_.size() < count) changed_.wait(mutex_);
  }
  std::vector<int32_t> saved() {
    const MutexLock lock(mutex_);
    return saved_;
  }

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  int permits_ = 0;
  std::vector<int32_t> started_;
  std::vector<int32_t> saved_;
};

TEST(WriteQueue, SavesInOrderAndDropsTheOldestThatWaits) {
  Gate gate;
  test::MemoryLog log;
  WriteQueue queue("test", [&](const NewEntry& e) { return gate.save(e); }, log,
                   {.max_bytes = 3 * kEntryBytes});
  EXPECT_TRUE(queue.push(entry(1)));
  gate.wait_started(1);  // in flight: it cannot be dropped and does not count as waiting
  for (int32_t i = 2; i <= 7; ++i) {
    EXPECT_TRUE(queue.push(entry(i)));
    EXPECT_LE(queue.stats().pending_bytes, 3 * kEntryBytes);
  }
  EXPECT_EQ(queue.stats().dropped, 3U);
  EXPECT_EQ(queue.stats().pending, 4U);
  gate.let(100);
  const FlushReport report = queue.flush(steady_clock::now() + kForEver);
  EXPECT_TRUE(report.durable);
  EXPECT_THAT(gate.saved(), ElementsAre(1, 5, 6, 7));
}

TEST(WriteQueue, DeclinesWhatCouldNeverWait) {
  Gate gate;
  test::MemoryLog log;
  WriteQueue queue("test", [&](const NewEntry& e) { return gate.save(e); }, log,
                   {.max_bytes = kEntryBytes - 1});
  EXPECT_FALSE(queue.push(entry(1)));
  EXPECT_EQ(queue.stats().declined, 1U);
  EXPECT_TRUE(queue.flush(steady_clock::now()).durable);
}

TEST(WriteQueue, FlushSaysWhatItCannotPromise) {
  Gate gate;
  test::MemoryLog log;
  WriteQueue queue("test", [&](const NewEntry& e) { return gate.save(e); }, log,
                   {.max_bytes = 2 * kEntryBytes});
  queue.push(entry(1));
  gate.wait_started(1);
  queue.push(entry(-2));
  EXPECT_FALSE(queue.flush(steady_clock::now()).durable);
  EXPECT_EQ(queue.flush(steady_clock::now()).left, 2U);
  gate.let(1);
  gate.wait_started(2);  // the first is saved
  auto failing = std::async(std::launch::async, [&] { return queue.flush(steady_clock::now() + kForEver); });
  auto also = std::async(std::launch::async, [&] { return queue.flush(steady_clock::now() + kForEver); });
  // Both flushes look at the same failure when they began before it.
  while (failing.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) gate.let(1);
  EXPECT_EQ(failing.get().left, 0U);
  EXPECT_EQ(also.get().left, 0U);
  EXPECT_THAT(log.text(), testing::HasSubstr("a prefix cannot be saved (test)"));
  EXPECT_EQ(queue.stats().failed, 1U);
  EXPECT_EQ(queue.stats().saved, 1U);
  EXPECT_TRUE(queue.flush(steady_clock::now()).durable);
}

TEST(WriteQueue, FlushDoesNotWaitForWhatCameLater) {
  Gate gate;
  test::MemoryLog log;
  WriteQueue queue("test", [&](const NewEntry& e) { return gate.save(e); }, log, {});
  queue.push(entry(1));
  gate.wait_started(1);
  auto flushed = std::async(std::launch::async, [&] { return queue.flush(steady_clock::now() + kForEver); });
  gate.let(1);
  EXPECT_TRUE(flushed.get().durable);
  queue.push(entry(2));
  gate.wait_started(2);
  gate.let(1);
}

TEST(WriteQueue, LetsGoOfAnEntryBeforeItSaysThatItIsSaved) {
  Gate gate;
  test::MemoryLog log;
  WriteQueue queue("test", [&](const NewEntry& e) { return gate.save(e); }, log, {});
  NewEntry held = entry(1);
  const std::weak_ptr<const PieceSource> pieces = held.pieces;
  queue.push(std::move(held));
  gate.let(1);
  EXPECT_TRUE(queue.flush(steady_clock::now() + kForEver).durable);
  EXPECT_TRUE(pieces.expired());
}

// While others want the processors, saving rests between pieces; who waits for a flush is not kept waiting.
TEST(WriteQueue, RestsWhileItIsBusyUnlessSomebodyWaits) {
  Mutex mutex;
  std::condition_variable_any changed;
  int begun = 0;
  const auto save = [&](const NewEntry& e) -> Result<bool> {
    {
      const MutexLock lock(mutex);
      ++begun;
      changed.notify_all();
    }
    e.between_pieces();
    return true;
  };
  const auto wait_begun = [&](int count) {
    const MutexLock lock(mutex);
    while (begun < count) changed.wait(mutex);
  };
  // A share of nothing: it rests for days.
  test::MemoryLog log;
  WriteQueue queue("test", save, log, {.busy_share = 1e-12});
  queue.set_busy(true);
  queue.push(entry(1));
  wait_begun(1);
  EXPECT_EQ(queue.stats().saved, 0U);
  EXPECT_TRUE(queue.flush(steady_clock::now() + kForEver).durable);
  queue.push(entry(2));
  wait_begun(2);
  queue.set_busy(false);
  EXPECT_TRUE(queue.flush(steady_clock::now() + kForEver).durable);
  queue.set_busy(true);
  queue.push(entry(3));
  wait_begun(3);  // the end wakes it
}

}  // namespace
}  // namespace kvern::store
