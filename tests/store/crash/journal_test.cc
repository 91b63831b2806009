// The power goes after every system call of a journal: what was durable is there, and what is there was
// written before what is not.
//
// KVERN_CRASH_STATES is how many states are looked at, as in crash_test.cc.
#include "store/journal/journal.h"

#include <algorithm>
#include <iostream>

#include <gtest/gtest.h>

#include "store/crash/workload.h"
#include "store/journal/records.h"
#include "support/crash_disk.h"

namespace kvern::store {
namespace {

using kvern::test::CrashChoice;
using kvern::test::CrashDisk;
using kvern::test::RecordedCall;
using kvern::test::RecordingFiles;
using test::text_of;
using What = CrashChoice::What;

constexpr const char* kDirectory = "journal";

/// Calls that were recorded when a number of records was durable.
struct Promise {
  size_t calls = 0;
  size_t records = 0;
};

/// Runs of all kinds through a journal whose segments are short.
class Workload {
 public:
  explicit Workload(RecordingFiles& files) : files_(files) {}

  void run() {
    states_.push_back("");
    reopen();
    for (uint64_t run = 1; run <= 24; ++run) {
      // Nothing goes on from what was forgotten before.
      const uint64_t previous = run > 3 && (run - 3) % 4 != 0 ? run - 3 : 0;
      give({test::accepted(run, previous), StartedRecord{run, static_cast<int64_t>(run)}});
      for (uint64_t i = 0; i < run % 4; ++i)
        give({test::sampled(run, static_cast<uint32_t>(i % 2), i / 2, {static_cast<int32_t>(run * 10 + i)})});
      if (run % 5 != 0) give({test::ended(run, run % 3 == 0 ? "" : "kept", previous)});
      if (run % 4 == 0) give({ForgottenRecord{run}, ForgottenRecord{run / 2}});
      if (run % 7 == 0) reopen();
    }
    journal_.reset();
  }

  const std::vector<Promise>& promises() const { return promises_; }
  /// What lives when so many records are there.
  const std::vector<std::string>& states() const { return states_; }

 private:
  void reopen() {
    journal_.reset();
    auto opened = Journal::open(
        {.files = files_, .log = null_log(), .clock = clock_},
        {.directory = kDirectory, .sync = JournalSync::kAlways, .segment_bytes = 900, .max_bytes = 4000});
    KVERN_CHECK(opened.has_value());
    journal_ = std::move(opened->journal);
    promises_.push_back({files_.calls(), states_.size() - 1});
  }

  void give(const std::vector<JournalRecord>& records) {
    for (const JournalRecord& record : records) {
      expected_.apply(record);
      states_.push_back(text_of(expected_.live(0)));
      if (const auto* accepted = std::get_if<AcceptedRecord>(&record)) journal_->accept(*accepted, nullptr);
      if (const auto* started = std::get_if<StartedRecord>(&record)) journal_->start(*started);
      if (const auto* ended = std::get_if<EndedRecord>(&record)) journal_->end(*ended);
      if (const auto* forgotten = std::get_if<ForgottenRecord>(&record)) journal_->forget(forgotten->run);
      if (const auto* sampled = std::get_if<SampledRecord>(&record))
        journal_->sampled(sampled->run, sampled->choice, sampled->first, sampled->tokens.front());
    }
    KVERN_CHECK(journal_->flush(std::chrono::steady_clock::now() + std::chrono::seconds(60)));
    promises_.push_back({files_.calls(), states_.size() - 1});
  }

  RecordingFiles& files_;
  ManualClock clock_{std::chrono::sys_days{std::chrono::year{2026} / 11 / 30}};
  std::unique_ptr<Journal> journal_;
  JournalState expected_;
  std::vector<Promise> promises_;
  std::vector<std::string> states_;
};

/// What is found, and whether a journal can be opened there.
std::string inspect(Files& files) {
  auto recovery = recover_journal(files, kDirectory);
  if (!recovery) return recovery.error().code == ErrorCode::kNotFound ? "" : recovery.error().to_string();
  for (const std::string& damage : recovery->damage) return "damage: " + damage;
  return text_of(recovery->state.live(0));
}

std::string reopened(Files& files) {
  const ManualClock clock{std::chrono::sys_days{std::chrono::year{2026} / 11 / 30}};
  auto opened = Journal::open({.files = files, .log = null_log(), .clock = clock}, {.directory = kDirectory});
  return opened ? text_of(opened->runs) : opened.error().to_string();
}

CrashChoice choice_of(uint64_t variant, uint64_t call) {
  constexpr What kAll[] = {What::kNothing, What::kAll, What::kAny};
  return {.data = variant < 9 ? kAll[variant % 3] : What::kAny,
          .names = variant < 9 ? kAll[variant / 3] : What::kAny,
          .seed = variant * 1'000'003 + call};
}

TEST(JournalCrash, AtAnyCallLeavesABeginningOfWhatWasWrittenWithAllThatWasDurable) {
  RecordingFiles files;
  Workload workload(files);
  workload.run();
  const std::vector<RecordedCall> record = files.record();
  const auto& states = workload.states();
  const auto& promises = workload.promises();
  const test::Shard shard = test::shard();
  const uint64_t wanted = test::cases(KVERN_CRASH_STATES);
  const uint64_t variants = std::max<uint64_t>(1, (wanted + record.size()) / (record.size() + 1));
  CrashDisk disk(record);
  uint64_t seen = 0;
  for (size_t promise = 0;;) {
    const size_t call = disk.done();
    while (promise + 1 < promises.size() && promises[promise + 1].calls <= call) ++promise;
    const size_t durable = promises[promise].calls <= call ? promises[promise].records : 0;
    const size_t given = promises[std::min(promise + 1, promises.size() - 1)].records;
    for (uint64_t i = 0; i < variants; ++i) {
      const uint64_t variant = variants >= 9 ? i : (i + call * variants) % 16;
      if ((call * variants + i) % shard.count != shard.index) continue;
      const auto left = disk.image(choice_of(variant, call));
      const std::string found = inspect(*left);
      bool known = false;
      for (size_t records = durable; records <= given; ++records) known |= states[records] == found;
      ASSERT_TRUE(known) << "after call " << call << " of " << record.size() << ", variant " << variant
                         << ", found:\n"
                         << found << "durable were:\n"
                         << states[durable];
      if (++seen % 8 == 0) {
        ASSERT_EQ(reopened(*left), found);
        ASSERT_EQ(inspect(*left), found);
      }
    }
    if (call == record.size()) break;
    disk.advance();
  }
  EXPECT_GT(seen, 0U);
  RecordProperty("states", std::to_string(seen));
  std::cout << seen << " states after " << record.size() << " calls\n";
}

}  // namespace
}  // namespace kvern::store
