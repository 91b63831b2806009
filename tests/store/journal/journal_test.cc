#include "store/journal/journal.h"

#include <atomic>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/faulty_files.h"
#include "base/memory_files.h"
#include "store/journal/records.h"
#include "support/result_matchers.h"

namespace kvern::store {
namespace {

using namespace std::chrono_literals;
using test::accepted;
using test::ended;
using test::text_of;

class CollectingLog : public LogSink {
 public:
  void log(LogLevel, std::string_view message) override {
    const MutexLock lock(mutex_);
    lines_.emplace_back(message);
  }
  std::vector<std::string> lines() {
    const MutexLock lock(mutex_);
    return lines_;
  }

 private:
  Mutex mutex_;
  std::vector<std::string> lines_;
};

class JournalTest : public testing::Test {
 protected:
  /// Ends the one before.
  std::string open(JournalOptions options = {}) {
    journal_.reset();
    options.directory = "kv/journal";
    EXPECT_OK(inner_->make_directory("kv"));
    auto opened = Journal::open({.files = files_, .log = log_, .clock = clock_}, options);
    EXPECT_TRUE(opened.has_value()) << (opened ? "" : opened.error().to_string());
    if (!opened) return "";
    journal_ = std::move(opened->journal);
    return text_of(opened->runs);
  }
  void flush() { EXPECT_TRUE(journal_->flush(std::chrono::steady_clock::now() + 60s)); }
  /// As a process that was killed leaves it: nothing is written at its end.
  std::string found() {
    auto recovery = recover_journal(files_, "kv/journal");
    EXPECT_TRUE(recovery.has_value());
    return text_of(recovery->state.live(0));
  }
  void accept(uint64_t run) {
    std::promise<void> written;
    journal_->accept(accepted(run), [&] { written.set_value(); });
    written.get_future().wait();
  }
  size_t segments() {
    size_t count = 0;
    const auto entries = inner_->list("kv/journal");
    for (const DirectoryEntry& entry : *entries) count += entry.name.ends_with(".kvj") ? 1 : 0;
    return count;
  }

  const std::unique_ptr<Files> inner_ = make_memory_files();
  FaultyFiles files_{*inner_};
  ManualClock clock_{std::chrono::sys_days{std::chrono::year{2026} / 11 / 30}};
  CollectingLog log_;
  std::unique_ptr<Journal> journal_;
  const std::string body_ = R"({"input":"Hello"})";
};

TEST_F(JournalTest, what_was_written_is_there_after_a_kill_and_the_next_start) {
  EXPECT_EQ(open(), "");
  const uint64_t run = journal_->next_run();
  EXPECT_EQ(run, 1U);
  accept(run);
  EXPECT_EQ(found(), "1 " + body_ + " <- 0\n");
  journal_->start({.run = run, .cached_tokens = 2});
  for (int i = 0; i < 5; ++i)
    journal_->sampled(run, 0, static_cast<uint64_t>(i), {.token = i, .logprob = {}, .top = {}});
  flush();
  const std::string expected = "1 " + body_ + " <- 0 cached 2 [0 1 2 3 4 ]\n";
  EXPECT_EQ(found(), expected);
  EXPECT_EQ(open(), expected);
  EXPECT_EQ(journal_->next_run(), 2U);
  EXPECT_EQ(open(), expected);
  EXPECT_EQ(segments(), 1U);
  journal_->end(ended(1, "over"));
  EXPECT_EQ(open(), "1 = over <- 0\n");
  journal_->forget(1);
  EXPECT_EQ(open(), "");
}

TEST_F(JournalTest, tokens_come_in_groups_and_choices_are_told_apart) {
  open({.interval = 1h});
  accept(1);
  for (uint64_t i = 0; i < 3; ++i) {
    for (uint32_t choice = 0; choice < 2; ++choice) {
      journal_->sampled(
          1, choice, i,
          {.token = static_cast<int32_t>(10 * choice + i), .logprob = -0.25F, .top = {{1, -1.5F}}});
    }
  }
  EXPECT_EQ(found(), "1 " + body_ + " <- 0\n") << "they wait for their time";
  flush();
  EXPECT_EQ(found(), "1 " + body_ + " <- 0 [0 1 2 ] [10 11 12 ]\n");
  EXPECT_EQ(journal_->stats().records, 3U);
}

TEST_F(JournalTest, the_destructor_writes_what_waits) {
  open({.interval = 1h});
  journal_->sampled(1, 0, 0, {.token = 5, .logprob = {}, .top = {}});
  journal_->accept(accepted(1), nullptr);
  EXPECT_EQ(open(), "1 " + body_ + " <- 0 [5 ]\n");
}

TEST_F(JournalTest, a_second_process_is_told_so) {
  open();
  const auto second =
      Journal::open({.files = files_, .log = log_, .clock = clock_}, {.directory = "kv/journal"});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kExhausted);
  EXPECT_THAT(second.error().to_string(), testing::HasSubstr("another process has this journal"));
}

TEST_F(JournalTest, segments_follow_each_other_and_are_written_anew_when_there_are_too_many) {
  open({.sync = JournalSync::kAlways, .segment_bytes = 1000, .max_bytes = 4000});
  for (uint64_t run = 1; run <= 60; ++run) {
    accept(run);
    if (run % 10 != 0) journal_->end(ended(run, ""));
    flush();
    EXPECT_LE(journal_->stats().bytes, 4000U + 2000U);
  }
  EXPECT_GE(journal_->stats().rewrites, 2U);
  std::string expected;
  for (int run = 10; run <= 60; run += 10) expected += fmt::format("{} {} <- 0\n", run, body_);
  EXPECT_EQ(found(), expected);
  EXPECT_EQ(open(), expected);
}

TEST_F(JournalTest, what_was_kept_is_bounded_and_the_newest_stays) {
  open({.max_bytes = 8000});
  for (uint64_t run = 1; run <= 10; ++run) journal_->end(ended(run, std::string(1000, 'x')));
  const std::string kept = open({.max_bytes = 8000});
  EXPECT_THAT(kept, testing::Not(testing::HasSubstr("7 = ")));
  EXPECT_THAT(kept, testing::HasSubstr("8 = "));
  EXPECT_THAT(kept, testing::HasSubstr("10 = "));
}

TEST_F(JournalTest, what_is_over_does_not_stay_on_disk_for_long) {
  open({.max_age = 1h});
  accept(1);
  journal_->end(ended(1, ""));
  flush();
  clock_.advance(2h);
  journal_->forget(77);  // anything that wakes it
  flush();
  // The group that woke it is written first.
  journal_->forget(78);
  flush();
  EXPECT_GE(journal_->stats().rewrites, 2U);
  ASSERT_OK_AND_ASSIGN(const auto recovery, recover_journal(files_, "kv/journal"));
  EXPECT_LT(recovery.bytes, 300U);
}

TEST_F(JournalTest, a_disk_that_fails_for_a_while_loses_tokens_alone) {
  open({.sync = JournalSync::kAlways});
  accept(1);
  files_.set_plan({.at = 0, .kind = FaultKind::kTear, .stays_down = true});
  accept(2);  // it is called although there is no disk
  journal_->sampled(1, 0, 0, {.token = 5, .logprob = {}, .top = {}});
  journal_->end(ended(3, "three"));
  EXPECT_FALSE(journal_->flush(std::chrono::steady_clock::now() + 20ms));
  EXPECT_GE(journal_->stats().failures, 1U);
  files_.set_plan({});
  journal_->sampled(1, 0, 1, {.token = 6, .logprob = {}, .top = {}});
  flush();
  const std::string expected = "1 " + body_ + " <- 0";
  EXPECT_EQ(found(), expected + " []\n2 " + body_ + " <- 0\n3 = three <- 0\n");
  const auto lines = log_.lines();
  EXPECT_THAT(lines, testing::ElementsAre(testing::HasSubstr("cannot be written"),
                                          testing::HasSubstr("is written again")));
}

TEST_F(JournalTest, damage_is_reported_and_the_rest_is_there) {
  open({.sync = JournalSync::kAlways});
  for (uint64_t run = 1; run <= 4; ++run) accept(run);
  journal_.reset();
  ASSERT_OK_AND_ASSIGN(const auto entries, inner_->list("kv/journal"));
  const std::string path = "kv/journal/" + entries.front().name;
  ASSERT_OK_AND_ASSIGN(const auto file, inner_->open(path, OpenMode::kUpdate));
  const std::byte bad{0x55};
  ASSERT_OK(file->write_at(kSegmentHeaderBytes + 300, std::span(&bad, 1)));
  EXPECT_EQ(open(), fmt::format("1 {0} <- 0\n3 {0} <- 0\n4 {0} <- 0\n", body_));
  EXPECT_THAT(log_.lines(), testing::ElementsAre(testing::AllOf(testing::HasSubstr("the journal is damaged"),
                                                                testing::HasSubstr("1 records"))));
}

TEST_F(JournalTest, of_a_newer_program_is_left_alone) {
  open();
  accept(1);
  journal_.reset();
  const std::string path = "kv/journal/" + inner_->list("kv/journal")->front().name;
  ASSERT_OK_AND_ASSIGN(const auto file, inner_->open(path, OpenMode::kUpdate));
  ASSERT_OK_AND_ASSIGN(const uint64_t size, file->size());
  std::vector<std::byte> frame;
  append_frame({.type = 99, .sequence = 2, .durable = 1}, 1, {}, frame);
  ASSERT_OK(file->write_at(size, frame));
  const auto opened =
      Journal::open({.files = files_, .log = log_, .clock = clock_}, {.directory = "kv/journal"});
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(inner_->exists(path));
}

}  // namespace
}  // namespace kvern::store
