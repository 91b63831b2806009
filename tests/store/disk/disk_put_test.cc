// Saves that fail, and saves into a directory that somebody has been at. What is saved and found otherwise is
// in disk_store_test.cc.
#include <algorithm>
#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/faulty_files.h"
#include "store/entries.h"
#include "support/result_matchers.h"
#include "support/temporary_directory.h"

namespace kvern::store {
namespace {

using test::make_entry;
using test::Place;
using test::tokens_of;

// How many of these tokens a store gives to a prompt that goes on; looks at every byte.
int64_t reuse(DiskStore& store, const PrefixSpace& space, std::vector<int32_t> tokens) {
  tokens.push_back(50001);
  const auto hit = store.find(space, tokens);
  EXPECT_OK(hit);
  return hit && *hit ? test::restored_tokens(store, space, tokens, **hit) : 0;
}

TEST(DiskPut, TakesBackWhatASaveThatFailedHasWritten) {
  const auto space = test::space_named("model");
  const auto short_tokens = tokens_of(64, 1);
  auto long_tokens = short_tokens;
  for (const int32_t token : tokens_of(64, 2)) long_tokens.push_back(token);
  int failures = 0;
  for (uint64_t disk = 0;; disk += 1500) {
    Place place;
    FaultyFiles faulty(*place.files);
    const auto io = make_files_io(faulty);
    ASSERT_OK_AND_ASSIGN(auto store, DiskStore::open({faulty, *io, place.clock, place.log}, place.options));
    ASSERT_OK(store->put(make_entry(space, short_tokens)));
    ASSERT_EQ(place.files->list("kv/blocks")->size(), 4U);
    faulty.set_plan({.disk_bytes = disk});
    const bool saved = store->put(make_entry(space, long_tokens)).has_value();
    faulty.set_plan({});
    EXPECT_EQ(place.files->list("kv/blocks")->size(), saved ? 8U : 4U) << disk;
    EXPECT_EQ(store->collect()->files_removed, 0) << disk;
    EXPECT_EQ(reuse(*store, *space, long_tokens), saved ? 128 : 64) << disk;
    if (saved) break;
    ++failures;
    // The disk has room again.
    ASSERT_OK(store->put(make_entry(space, long_tokens)));
    EXPECT_EQ(reuse(*store, *space, long_tokens), 128) << disk;
  }
  EXPECT_GT(failures, 5);
}

TEST(DiskPut, MakesWhatWasRemovedAgainWhenItSaves) {
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(64, 1);
  for (const std::string removed : {"blocks", "manifests", "blocks manifests", "index.db", "all"}) {
    SCOPED_TRACE(removed);
    const kvern::test::TemporaryDirectory temporary;
    const std::string directory = temporary.path() + "/kv";
    const auto files = make_posix_files();
    const auto io = make_files_io(*files);
    Place place;
    place.options.directory = directory;
    ASSERT_OK_AND_ASSIGN(auto store, DiskStore::open({*files, *io, place.clock, place.log}, place.options));
    ASSERT_OK(store->put(make_entry(space, tokens)));
    ASSERT_OK(store->set_pinned(store->list()->front().manifest, true));
    EXPECT_EQ(place.log.text(), "");
    std::istringstream words(removed);
    for (std::string name; words >> name;)
      std::filesystem::remove_all(name == "all" ? directory : directory + "/" + name);
    ASSERT_OK(store->put(make_entry(space, tokens)));
    ASSERT_OK(store->put(make_entry(space, tokens_of(80, 2))));
    EXPECT_EQ(reuse(*store, *space, tokens), 64);
    EXPECT_EQ(reuse(*store, *space, tokens_of(80, 2)), 80);
    EXPECT_EQ(store->list()->size(), 2U);
    const auto entries = store->list();
    ASSERT_OK(entries);
    if (removed == "blocks" || removed == "index.db") {
      EXPECT_EQ(std::ranges::count(*entries, true, &ListedEntry::pinned), 1);
    }
    EXPECT_THAT(place.log.text(), testing::HasSubstr("were removed from " + directory));
    store.reset();
    ASSERT_OK_AND_ASSIGN(store, DiskStore::open({*files, *io, place.clock, place.log}, place.options));
    EXPECT_EQ(reuse(*store, *space, tokens), 64);
  }
}

TEST(DiskPut, TakesNobodyElsesDirectory) {
  Place place;
  ASSERT_OK(place.files->make_directory("kv"));
  ASSERT_OK(place.files->make_directory("kv/lost+found"));
  EXPECT_OK(place.open());
  ASSERT_OK(place.files->make_directory("home"));
  ASSERT_OK(place.files->open("home/letter.txt", OpenMode::kCreate));
  place.options.directory = "home";
  EXPECT_ERROR(place.open(), kInvalidArgument, "not empty (letter.txt)");
  EXPECT_EQ(place.files->list("home")->size(), 1U);
  // One that is a store already may hold what it likes.
  ASSERT_OK(place.files->make_directory("home/manifests"));
  EXPECT_OK(place.open());
}

}  // namespace
}  // namespace kvern::store
