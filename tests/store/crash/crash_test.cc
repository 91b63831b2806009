// The power goes after every system call of a workload, in every way that the calls allow.
//
// KVERN_CRASH_STATES is how many states are looked at; the build gives a small number to the default run and
// a large one to the test labelled slow.
#include <set>

#include <gtest/gtest.h>

#include "store/crash/workload.h"
#include "support/crash_disk.h"

namespace kvern::store {
namespace {

using kvern::test::CrashChoice;
using kvern::test::CrashDisk;
using kvern::test::RecordedCall;
using kvern::test::RecordingFiles;
using What = CrashChoice::What;

// The corners first, then anything.
CrashChoice choice_of(uint64_t variant, uint64_t call) {
  constexpr CrashChoice kCorners[] = {{What::kNothing, What::kNothing}, {What::kAll, What::kAll},
                                      {What::kNothing, What::kAll},     {What::kAll, What::kNothing},
                                      {What::kAny, What::kAll},         {What::kAny, What::kNothing},
                                      {What::kAll, What::kAny},         {What::kNothing, What::kAny}};
  CrashChoice choice = variant < 8 ? kCorners[variant] : CrashChoice{What::kAny, What::kAny};
  choice.seed = variant * 1'000'003 + call;
  return choice;
}

const test::Promise& promise_at(const std::vector<test::Promise>& promises, size_t call) {
  const test::Promise* last = &promises.front();
  for (const test::Promise& promise : promises) {
    if (promise.from <= call) last = &promise;
  }
  return *last;
}

TEST(Crash, AtAnyCallLeavesTheOldOrTheNewState) {
  RecordingFiles files;
  test::Workload workload(files, [&] { return files.calls(); });
  workload.run();
  for (const bool found : workload.promises().back().found) ASSERT_TRUE(found || workload.known().size() > 4);
  const std::vector<RecordedCall> record = files.record();
  const uint64_t wanted = test::cases(KVERN_CRASH_STATES);
  const uint64_t variants = std::max<uint64_t>(1, (wanted + record.size()) / (record.size() + 1));
  const test::Shard shard = test::shard();
  // When few states are wanted, each call gets some of the ways, and neighbours get others.
  CrashDisk disk(record);
  uint64_t states = 0;
  int64_t found = 0;
  uint64_t remade = 0;
  while (true) {
    const size_t call = disk.done();
    for (uint64_t i = shard.index; i < variants; i += shard.count) {
      const uint64_t variant = variants >= 8 ? i : (i + call * variants) % 16;
      const auto left = disk.image(choice_of(variant, call));
      const auto seen =
          test::inspect(*left, workload.known(), &promise_at(workload.promises(), call), states % 32 == 0);
      ASSERT_EQ(seen.problem, "") << "after call " << call << " of " << record.size() << ", variant "
                                  << variant;
      ++states;
      found += seen.found;
      remade += seen.index_was_remade ? 1 : 0;
    }
    if (call == record.size()) break;
    disk.advance();
  }
  EXPECT_GT(found, static_cast<int64_t>(states));
  RecordProperty("states", std::to_string(states));
  RecordProperty("calls", std::to_string(record.size()));
  std::cout << states << " states after " << record.size() << " calls; " << found
            << " prefixes found whole, the index made again " << remade << " times\n";
}

// The control: a store that makes its files visible before they are durable must be found out.
TEST(Crash, OfAStoreThatDoesNotSyncIsNoticed) {
  RecordingFiles files;
  test::Workload workload(files, [&] { return files.calls(); });
  workload.run();
  for (const auto left_out : {RecordedCall::Kind::kSync, RecordedCall::Kind::kSyncDirectory}) {
    std::vector<RecordedCall> record = files.record();
    for (RecordedCall& call : record) {
      // A write of nothing: the calls keep their numbers.
      if (call.kind == left_out) call = {.kind = RecordedCall::Kind::kWrite, .node = SIZE_MAX};
    }
    CrashDisk disk(record);
    uint64_t noticed = 0;
    while (disk.done() < record.size()) {
      disk.advance();
      if (disk.done() % 40 != 0) continue;
      const auto left = disk.image(choice_of(left_out == RecordedCall::Kind::kSync ? 2 : 3, disk.done()));
      const test::Promise& promise = promise_at(workload.promises(), disk.done());
      if (!test::inspect(*left, workload.known(), &promise, false).problem.empty()) ++noticed;
    }
    EXPECT_GT(noticed, 0U) << static_cast<int>(left_out);
  }
}

}  // namespace
}  // namespace kvern::store
