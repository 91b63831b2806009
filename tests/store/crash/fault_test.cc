// Damage and failing system calls at random: never a wrong byte, never an end of service.
//
// KVERN_FAULTS is how many are tried of each kind, as KVERN_CRASH_STATES in crash_test.cc.
#include <iostream>

#include <gtest/gtest.h>

#include "base/faulty_files.h"
#include "store/crash/workload.h"

namespace kvern::store {
namespace {

using Content = std::map<std::string, std::vector<std::byte>>;

struct Random {
  uint64_t state;
  uint64_t operator()(uint64_t n) { return (state = test::mix(state + 0x1234567)) % n; }
};

Content read_all(Files& files, const std::string& folder) {
  Content content;
  const auto entries = files.list(folder).value_or(std::vector<DirectoryEntry>());
  for (const DirectoryEntry& entry : entries) {
    const std::string path = folder + "/" + entry.name;
    if (entry.is_directory) {
      content.merge(read_all(files, path));
      continue;
    }
    const auto file = *files.open(path, OpenMode::kRead);
    auto& bytes = content[path];
    bytes.resize(*file->size());
    EXPECT_TRUE(file->read_at(0, bytes).has_value());
  }
  return content;
}

std::unique_ptr<Files> files_of(const Content& content) {
  auto files = make_memory_files();
  for (const char* folder : {"kv", "kv/blocks", "kv/manifests"}) EXPECT_TRUE(files->make_directory(folder));
  for (const auto& [path, bytes] : content)
    EXPECT_TRUE((*files->open(path, OpenMode::kCreate))->write_at(0, bytes));
  return files;
}

// One way of many in which files go bad.
void damage(Content& content, const Content& older, Random& draw) {
  const auto pick = [&](auto& from) {
    return std::next(from.begin(), static_cast<ptrdiff_t>(draw(from.size())));
  };
  const auto victim = pick(content);
  std::vector<std::byte>& bytes = victim->second;
  switch (draw(8)) {
    case 0:
    case 1:
    case 2:  // bits
      for (uint64_t i = draw(4) + 1; i > 0 && !bytes.empty(); --i)
        bytes[draw(bytes.size())] ^= static_cast<std::byte>(1 << draw(8));
      return;
    case 3:  // cut off
      bytes.resize(draw(bytes.size() + 1));
      return;
    case 4:  // another file's bytes
      bytes = pick(content)->second;
      return;
    case 5:  // gone
      content.erase(victim);
      return;
    case 6: {  // a stretch of zeros or noise
      const size_t begin = draw(bytes.size() + 1);
      const size_t end = std::min<size_t>(bytes.size(), begin + draw(5000));
      const auto value = static_cast<std::byte>(draw(2) * 0xa5);
      std::fill(bytes.begin() + static_cast<ptrdiff_t>(begin), bytes.begin() + static_cast<ptrdiff_t>(end),
                value);
      return;
    }
    default: {  // as it was earlier
      const auto old = older.find(victim->first);
      if (old != older.end()) bytes = old->second;
    }
  }
}

TEST(Faults, OfFilesAreFoundOrDoNoHarm) {
  auto files = make_memory_files();
  Content older;
  test::Workload workload(*files, [] { return size_t{0}; });
  {
    // What was there in the middle of it.
    test::Workload part(*files, [] { return size_t{0}; });
    part.run();
    older = read_all(*files, "kv");
  }
  workload.run();
  const Content good = read_all(*files, "kv");
  ASSERT_GT(test::inspect(*files_of(good), workload.known(), nullptr, false).found, 2);
  const uint64_t faults = test::cases(KVERN_FAULTS);
  int64_t found = 0;
  int64_t tried = 0;
  int64_t saved = 0;
  int64_t found_saved = 0;
  const test::Shard shard = test::shard();
  for (uint64_t number = shard.index; number < faults; number += shard.count) {
    ++tried;
    Random draw{number * 7919 + 1};
    Content content = good;
    for (uint64_t i = draw(3) + 1; i > 0; --i) damage(content, older, draw);
    const auto left = files_of(content);
    const auto seen = test::inspect(*left, workload.known(), nullptr, number % 8 == 0);
    ASSERT_EQ(seen.problem, "") << "fault " << number;
    found += seen.found;
    saved += seen.saved;
    found_saved += seen.found_saved;
  }
  EXPECT_GT(found, 2 * tried);
  EXPECT_GE(1000 * found_saved, 998 * saved);
  std::cout << tried << " files damaged; " << found << " prefixes found whole, " << found_saved << " of "
            << saved << " after they were saved again\n";
}

TEST(Faults, OfSystemCallsNeverEndTheServiceNorGiveWrongBytes) {
  const auto count = [] {
    const auto inner = make_memory_files();
    FaultyFiles files(*inner);
    files.set_plan({});
    test::Workload(files, [] { return size_t{0}; }).run();
    return files.operations();
  };
  const uint64_t calls = count();
  const uint64_t faults = test::cases(KVERN_FAULTS) / 4;
  int64_t found = 0;
  int64_t tried = 0;
  const test::Shard shard = test::shard();
  for (uint64_t number = shard.index; number < faults; number += shard.count) {
    ++tried;
    Random draw{number + 99};
    const auto inner = make_memory_files();
    FaultyFiles files(*inner);
    FaultPlan plan{.at = faults > calls ? number % calls : draw(calls)};
    plan.kind = static_cast<FaultKind>(draw(3));
    plan.stays_down = draw(4) == 0;
    if (draw(4) == 0) plan = {.disk_bytes = draw(300000)};
    files.set_plan(plan);
    test::Workload workload(files, [] { return size_t{0}; });
    workload.run();
    const auto seen = test::inspect(*inner, workload.known(), nullptr, number % 8 == 0);
    ASSERT_EQ(seen.problem, "") << "fault " << number << " at call " << plan.at << " of " << calls;
    found += seen.found;
  }
  EXPECT_GT(found, tried);
  std::cout << tried << " system calls failed; " << found << " prefixes found whole\n";
}

}  // namespace
}  // namespace kvern::store
