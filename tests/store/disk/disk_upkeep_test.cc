// Limits, pins, removal, verification: what a directory does with what it has.
#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "store/block/manifest_format.h"
#include "store/disk/disk_store.h"
#include "store/disk/reuse.h"
#include "support/result_matchers.h"
#include "support/temporary_directory.h"

namespace kvern::store {
namespace {

using test::flip;
using test::listed;
using test::make_entry;
using test::Place;
using test::reuse;
using test::tokens_of;
using test::with;

TEST(DiskUpkeep, KeepsItsBudgetAndWhatWasUsedLast) {
  Place place;
  place.options.limit_of = LimitOf::kEntries;
  const auto space = test::space_named("model");
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  const auto put = [&](uint64_t seed) { return *store->put(make_entry(space, tokens_of(64, seed))); };
  const auto has = [&](uint64_t seed) { return reuse(*store, *space, with(tokens_of(64, seed), 1)) == 64; };
  put(1);
  const uint64_t one = (*store->stats()).totals.bytes;
  ASSERT_OK(store->set_max_bytes(3 * one));
  for (const uint64_t seed : {2, 3}) {
    place.clock.advance(std::chrono::seconds(10));
    put(seed);
  }
  // The oldest is used again, so the second is the one that goes.
  place.clock.advance(std::chrono::seconds(10));
  const auto hit = store->find(*space, with(tokens_of(64, 1), 1));
  store->touch((*hit)->manifest);
  put(4);
  EXPECT_TRUE(has(1));
  EXPECT_FALSE(has(2));
  EXPECT_TRUE(has(3));
  EXPECT_TRUE(has(4));
  EXPECT_LE((*store->stats()).totals.bytes, 3 * one);
  // Lowered while it runs; a pinned entry stays.
  ASSERT_OK(store->set_pinned((*hit)->manifest, true));
  ASSERT_OK(store->set_max_bytes(one));
  EXPECT_TRUE(has(1));
  EXPECT_FALSE(has(4));
  EXPECT_EQ(place.files->list("kv/blocks")->size(), 4U);
  EXPECT_ERROR(store->put(make_entry(space, tokens_of(64, 5))), kExhausted, "pinned");
  EXPECT_TRUE(has(1));
  EXPECT_EQ((*store->stats()).evicted, 3U);
  ASSERT_OK(store->set_max_bytes(100));
  EXPECT_EQ(put(6), PutOutcome::kTooLarge);
}

TEST(DiskUpkeep, SaysWhenPinsLeaveNoRoomAndLetsNothingGoForIt) {
  Place place;
  place.options.limit_of = LimitOf::kEntries;
  const auto space = test::space_named("model");
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  for (const uint64_t seed : {1, 2, 3}) ASSERT_OK(store->put(make_entry(space, tokens_of(64, seed))));
  const uint64_t three = store->stats()->totals.bytes;
  ASSERT_OK(store->set_max_bytes(three + 100));
  const auto entries = listed(*store);
  ASSERT_OK(store->set_pinned(entries[0].manifest, true));
  ASSERT_OK(store->set_pinned(entries[1].manifest, true));
  EXPECT_EQ(store->stats()->totals.pinned_bytes, 2 * three / 3);
  // As large as what is not pinned: the third goes for it.
  EXPECT_EQ(*store->put(make_entry(space, tokens_of(64, 4))), PutOutcome::kSaved);
  EXPECT_EQ(store->stats()->totals.entries, 3);
  const auto refused = store->put(make_entry(space, tokens_of(128, 5)));
  EXPECT_ERROR(refused, kExhausted,
               "hold " + std::to_string(2 * three / 3) + " of the " + std::to_string(three + 100));
  EXPECT_EQ(reuse(*store, *space, with(tokens_of(64, 4), 1)), 64);
  EXPECT_EQ(store->stats()->evicted, 1U);
}

TEST(DiskUpkeep, ClientsPinNoMoreThanHalf) {
  Place place;
  place.options.limit_of = LimitOf::kEntries;
  const auto space = test::space_named("model");
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  for (const uint64_t seed : {1, 2, 3, 4}) ASSERT_OK(store->put(make_entry(space, tokens_of(64, seed))));
  const uint64_t four = store->stats()->totals.bytes;
  ASSERT_OK(store->set_max_bytes(four));
  const auto entries = listed(*store);
  for (int i = 0; i < 2; ++i) ASSERT_OK(store->pin_within_share(entries[0].manifest));
  ASSERT_OK(store->pin_within_share(entries[1].manifest));
  EXPECT_ERROR(store->pin_within_share(entries[2].manifest), kExhausted,
               "take " + std::to_string(3 * four / 4) + " bytes with this one, and at most " +
                   std::to_string(four / 2));
  EXPECT_ERROR(store->pin_within_share({}), kNotFound, "no such");
  EXPECT_EQ(store->stats()->totals.pinned_bytes, four / 2);
  // What is pinned may be so again, also where it has become too much.
  ASSERT_OK(store->set_pinned(entries[2].manifest, true));
  EXPECT_OK(store->pin_within_share(entries[2].manifest));
  ASSERT_OK(store->set_pinned(entries[0].manifest, false));
  ASSERT_OK(store->set_pinned(entries[1].manifest, false));
  EXPECT_OK(store->pin_within_share(entries[3].manifest));
  ASSERT_OK(store->set_max_bytes(0));
  EXPECT_OK(store->pin_within_share(entries[0].manifest));
}

uint64_t bytes_below(const std::filesystem::path& directory) {
  uint64_t sum = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) sum += entry.file_size();
  }
  return sum;
}

TEST(DiskUpkeep, CountsAllFilesOfItsDirectory) {
  const kvern::test::TemporaryDirectory folder;
  Place place;
  place.files = make_posix_files();
  place.io = make_files_io(*place.files);
  place.options.directory = folder.path() + "/kv";
  const uint64_t most = uint64_t{8} << 20;
  place.options.max_bytes = most;
  place.options.chain.page = 2048;
  const auto space = test::space_named("model");
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  ASSERT_OK(place.files->make_directory(folder.path() + "/kv/journal"));
  const auto journal = *place.files->open(folder.path() + "/kv/journal/1", OpenMode::kCreate);
  ASSERT_OK(journal->write_at(0, std::vector<std::byte>(size_t{3} << 20)));
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    ASSERT_EQ(*store->put(make_entry(space, tokens_of(4096, seed))), PutOutcome::kSaved);
    ASSERT_LE(bytes_below(folder.path()), most);
  }
  const DiskStats stats = *store->stats();
  EXPECT_GT(stats.evicted, 0U);
  EXPECT_GE(stats.other_bytes, uint64_t{3} << 20);
  EXPECT_EQ(stats.other_bytes + stats.totals.bytes, bytes_below(folder.path()));
  EXPECT_GT(stats.totals.bytes, uint64_t{2} << 20);
  // Where the others take all of it nothing is kept, and nothing is lost of what was said to be.
  ASSERT_OK(store->set_max_bytes(uint64_t{3} << 20));
  EXPECT_EQ(*store->put(make_entry(space, tokens_of(4096, 100))), PutOutcome::kTooLarge);
  EXPECT_TRUE(listed(*store).empty());
}

TEST(DiskUpkeep, ForgetsWhatHasExpired) {
  Place place;
  const auto space = test::space_named("model");
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  NewEntry entry = make_entry(space, tokens_of(64, 1));
  entry.seconds_to_live = 60;
  ASSERT_OK(store->put(entry));
  EXPECT_EQ(reuse(*store, *space, with(entry.tokens, 1)), 64);
  place.clock.advance(std::chrono::seconds(61));
  EXPECT_EQ(reuse(*store, *space, with(entry.tokens, 1)), 0);
  ASSERT_OK(store->collect());
  EXPECT_TRUE(place.files->list("kv/blocks")->empty());
}

TEST(DiskUpkeep, CollectsWhatNobodyNamesAndNothingElse) {
  Place place;
  const auto space = test::space_named("model");
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  ASSERT_OK(store->put(make_entry(space, tokens_of(64, 1))));
  const auto write = [&](const std::string& path) {
    ASSERT_OK((*place.files->open(path, OpenMode::kCreate))->write_at(0, test::sample_bytes(10, 1)));
  };
  write("kv/blocks/" + std::string(64, 'a'));
  write("kv/manifests/" + std::string(64, 'b'));
  write("kv/blocks/" + std::string(32, 'c') + ".tmp");
  write("kv/blocks/notes.txt");
  ASSERT_OK_AND_ASSIGN(const CollectReport report, store->collect());
  EXPECT_EQ(report.files_removed, 3);
  EXPECT_EQ(report.strangers, 1);
  EXPECT_TRUE(place.files->exists("kv/blocks/notes.txt"));
  EXPECT_EQ(place.files->list("kv/blocks")->size(), 5U);
  EXPECT_EQ(reuse(*store, *space, with(tokens_of(64, 1), 1)), 64);
}

TEST(DiskUpkeep, FindsTheBlocksThatAreMissing) {
  Place place;
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  const auto space = test::space_named("model");
  ASSERT_OK(store->put(make_entry(space, tokens_of(64, 1))));
  ASSERT_OK_AND_ASSIGN(const Manifest m, store->manifest(store->list()->front().manifest));
  ASSERT_OK(place.files->remove("kv/blocks/" + m.pieces[2].block->to_string()));
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, store->verify());
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_NE(report.problems[0].find("lacks the block"), std::string::npos);
  EXPECT_EQ(store->list()->front().usable, 32);
}

// A manifest that is whole in itself, and takes blocks for what they are not.
TEST(DiskUpkeep, FindsEntriesThatNameBlocksOfOthers) {
  const auto space = test::space_named("model");
  const auto other = test::space_named("other");
  const auto swap_positions = [](Manifest& m, const Manifest&) {
    std::swap(m.pieces[0].block, m.pieces[1].block);
  };
  const auto take_theirs = [](Manifest& m, const Manifest& theirs) {
    m.pieces[0].block = theirs.pieces[0].block;
  };
  const auto other_client = [](Manifest& m, const Manifest&) { m.space = test::digest_of("another client"); };
  const auto other_codec = [](Manifest& m, const Manifest&) { m.identity += "more"; };
  const auto other_layers = [](Manifest& m, const Manifest&) { m.stores[0].store.text = "layers=9\n"; };
  using Change = std::function<void(Manifest&, const Manifest&)>;
  const std::pair<Change, const char*> changes[] = {{swap_positions, "one of other positions"},
                                                    {take_theirs, "one of another model"},
                                                    {other_client, "one of another client"},
                                                    {other_codec, "one of another type of keys and values"},
                                                    {other_layers, "one of other layers"}};
  for (const auto& [change, words] : changes) {
    Place place;
    ASSERT_OK_AND_ASSIGN(auto store, place.open());
    ASSERT_OK(store->put(make_entry(other, tokens_of(64, 2))));
    const Manifest theirs = *store->manifest(listed(*store)[0].manifest);
    ASSERT_OK(store->put(make_entry(space, tokens_of(64, 1))));
    const ContentName good = listed(*store)[0].model == space->identity.model ? listed(*store)[0].manifest
                                                                              : listed(*store)[1].manifest;
    Manifest wrong = *store->manifest(good);
    change(wrong, theirs);
    const EncodedManifest encoded = encode_manifest(wrong);
    const std::string file = "/" + encoded.name.to_string();
    const auto plant = [&] {
      ASSERT_OK(write_file_atomically(*place.files, "kv/manifests" + file, encoded.bytes));
    };
    // Looking only changes nothing.
    plant();
    place.options.read_only = true;
    ASSERT_OK_AND_ASSIGN(const auto reader, place.open());
    ASSERT_OK_AND_ASSIGN(const VerifyReport looked, reader->verify());
    ASSERT_EQ(looked.problems.size(), 1U) << words;
    EXPECT_NE(looked.problems[0].find(words), std::string::npos) << looked.problems[0];
    EXPECT_TRUE(place.files->exists("kv/manifests" + file));
    place.options.read_only = false;
    ASSERT_OK_AND_ASSIGN(const int64_t entries, store->reindex());
    EXPECT_EQ(entries, 2);
    EXPECT_TRUE(place.files->exists("kv/quarantine" + file));
    plant();
    EXPECT_EQ(store->verify()->problems.size(), 1U);
    EXPECT_FALSE(place.files->exists("kv/manifests" + file));
    // The blocks are whole, and serve those whose they are.
    EXPECT_TRUE(store->verify()->problems.empty());
    EXPECT_EQ(reuse(*store, *space, with(tokens_of(64, 1), 1)), 64);
    EXPECT_EQ(reuse(*store, *other, with(tokens_of(64, 2), 1)), 64);
  }
}

TEST(DiskUpkeep, ForgetsWhatIsWholeAndNoGood) {
  Place place;
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(64, 1);
  const std::vector<int32_t> beginning(tokens.begin(), tokens.begin() + 40);
  ASSERT_OK(store->put(make_entry(space, with(tokens, 1))));
  ASSERT_OK(store->put(make_entry(space, with(tokens, 2))));
  ASSERT_OK(store->put(make_entry(space, with(beginning, 3))));
  ASSERT_OK(store->put(make_entry(space, tokens_of(64, 2))));
  store->distrust(*space, std::span(tokens).first(50));
  EXPECT_EQ(listed(*store).size(), 2U);
  EXPECT_EQ(place.files->list("kv/quarantine")->size(), 2U);
  EXPECT_EQ(reuse(*store, *space, tokens), 40);
  EXPECT_EQ(reuse(*store, *space, with(tokens_of(64, 2), 1)), 64);
  store->distrust(*space, tokens);  // nothing gives them any more
  EXPECT_EQ(listed(*store).size(), 2U);
  // It ends where nothing can be changed.
  place.options.read_only = true;
  ASSERT_OK_AND_ASSIGN(const auto reader, place.open());
  reader->distrust(*space, std::span(tokens).first(40));
  EXPECT_EQ(listed(*reader).size(), 2U);
}

TEST(DiskUpkeep, ADamagedHeadOfABlockIsNotItsEntrysFault) {
  Place place;
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  const auto space = test::space_named("model");
  ASSERT_OK(store->put(make_entry(space, tokens_of(64, 1))));
  ASSERT_OK_AND_ASSIGN(const Manifest m, store->manifest(listed(*store)[0].manifest));
  flip(*place.files, "kv/blocks/" + m.pieces[2].block->to_string(), 64);  // of the model's fingerprint
  EXPECT_EQ(*store->reindex(), 1);
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, store->verify());
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_NE(report.problems[0].find("checksum"), std::string::npos) << report.problems[0];
  EXPECT_EQ(listed(*store)[0].usable, 32);
}

}  // namespace
}  // namespace kvern::store
