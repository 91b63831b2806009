// Saving, finding, restoring: what comes back is what the tokens say, or nothing.
#include "store/disk/disk_store.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/disk/reuse.h"
#include "support/result_matchers.h"
#include "support/temporary_directory.h"

namespace kvern::store {
namespace {

using test::EntryKind;
using test::flip;
using test::listed;
using test::make_entry;
using test::Place;
using test::reuse;
using test::tokens_of;
using test::with;

TEST(DiskStore, GivesBackWhatWasSavedAlsoAfterARestart) {
  Place place;
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(100, 1);
  for (const EntryKind& kind : {EntryKind{}, EntryKind{.window = 20}, EntryKind{.recurrent = true}}) {
    ASSERT_OK_AND_ASSIGN(auto store, place.open());
    ASSERT_OK_AND_ASSIGN(const PutOutcome outcome, store->put(make_entry(space, tokens, kind)));
    EXPECT_EQ(outcome, PutOutcome::kSaved);
    EXPECT_EQ(reuse(*store, *space, with(tokens, 7)), 100);
    store.reset();
    ASSERT_OK_AND_ASSIGN(store, place.open());
    EXPECT_EQ(reuse(*store, *space, with(tokens, 7)), 100);
    // The last token is always computed; what cannot be cut gives nothing then.
    EXPECT_EQ(reuse(*store, *space, tokens), kind.recurrent ? 0 : 99);
    for (const auto& entry : listed(*store)) ASSERT_OK(store->erase(entry.manifest));
    EXPECT_EQ(reuse(*store, *space, with(tokens, 7)), 0);
    EXPECT_TRUE(place.files->list("kv/blocks")->empty());
    EXPECT_TRUE(place.files->list("kv/manifests")->empty());
  }
}

TEST(DiskStore, AnswersTheWorkedExamplesOfTheLookup) {
  Place place;
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  const auto space = test::space_named("model");
  const auto t = tokens_of(200, 1);
  const auto first = [&](int64_t n) { return std::vector(t.begin(), t.begin() + n); };
  const auto put = [&](int64_t n, int64_t minimum) {
    NewEntry entry = make_entry(space, first(n));
    entry.minimum_reusable = minimum;
    ASSERT_OK(store->put(entry));
  };
  // Saved in an order in which none makes another one useless.
  put(160, 160);
  put(120, 110);
  put(100, 0);
  EXPECT_EQ(store->list()->size(), 3U);
  const auto other = [&](int64_t n) { return with(first(n), 50001); };
  EXPECT_EQ(reuse(*store, *space, other(130)), 120);
  EXPECT_EQ(reuse(*store, *space, other(105)), 100);
  EXPECT_EQ(reuse(*store, *space, first(161)), 160);
  EXPECT_EQ(reuse(*store, *space, first(100)), 99);
  EXPECT_EQ(reuse(*store, *space, first(1)), 0);
  EXPECT_EQ(reuse(*store, *space, other(1)), 1);
  put(170, 105);
  std::vector<int64_t> lengths;
  for (const auto& entry : listed(*store)) lengths.push_back(entry.length);
  EXPECT_THAT(lengths, testing::UnorderedElementsAre(170, 100));
}

TEST(DiskStore, GivesNothingToAnotherIdentity) {
  Place place;
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  const auto tokens = tokens_of(100, 1);
  const PrefixIdentity same = test::sample_space().identity;
  const auto space = std::make_shared<const PrefixSpace>(make_prefix_space(same));
  ASSERT_OK(store->put(make_entry(space, tokens)));
  const auto gives = [&](const auto& change) {
    PrefixIdentity other = same;
    change(other);
    return reuse(*store, make_prefix_space(other), with(tokens, 7));
  };
  EXPECT_EQ(gives([](PrefixIdentity& i) { i.model.digest[31] ^= std::byte{1}; }), 0);
  EXPECT_EQ(gives([](PrefixIdentity& i) { i.tokenizer[0] ^= std::byte{1}; }), 0);
  EXPECT_EQ(gives([](PrefixIdentity& i) { i.cache = "heads=2 k=8:q4g32 v=8:f16\n"; }), 0);
  EXPECT_EQ(gives([](PrefixIdentity& i) { i.adapter = "other"; }), 0);
  EXPECT_EQ(gives([](PrefixIdentity& i) { i.tenant = "other"; }), 0);
  EXPECT_EQ(gives([](PrefixIdentity& /*i*/) {}), 100);
  EXPECT_EQ((*store->stats()).damaged, 0U);
}

TEST(DiskStore, WritesAPageOnceForAllWhoShareIt) {
  Place place;
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  const auto space = test::space_named("model");
  const auto prompt = tokens_of(160, 1);
  for (int32_t i = 0; i < 10; ++i) {
    auto tokens = prompt;
    for (const int32_t t : tokens_of(20, static_cast<uint64_t>(i) + 9)) tokens.push_back(t);
    ASSERT_OK(store->put(make_entry(space, tokens)));
  }
  const DiskStats stats = *store->stats();
  EXPECT_EQ(stats.totals.entries, 10);
  EXPECT_EQ(stats.blocks_written, 10U + 10U);
  EXPECT_EQ(stats.blocks_reused, 90U);
  EXPECT_EQ(place.files->list("kv/blocks")->size(), 20U);
  ASSERT_OK_AND_ASSIGN(const PutOutcome again, store->put(make_entry(space, prompt)));
  EXPECT_EQ(again, PutOutcome::kSaved);  // shorter; the others give it, but nobody says so
  // Another tenant's are others.
  PrefixIdentity other = space->identity;
  other.tenant = "other";
  const auto stranger = std::make_shared<const PrefixSpace>(make_prefix_space(other));
  ASSERT_OK(store->put(make_entry(stranger, prompt)));
  EXPECT_EQ((*store->stats()).blocks_written, 20U + 10U);
  EXPECT_EQ(reuse(*store, *stranger, with(prompt, 1)), 160);
}

TEST(DiskStore, SavesEqualTokensOnce) {
  Place place;
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  const auto space = test::space_named("model");
  for (const EntryKind& kind : {EntryKind{}, EntryKind{.recurrent = true}}) {
    const auto entry = make_entry(space, tokens_of(50, kind.recurrent ? 2 : 1), kind);
    EXPECT_EQ(*store->put(entry), PutOutcome::kSaved);
    const auto before = (*store->stats()).totals.bytes;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(*store->put(entry), PutOutcome::kThere);
    EXPECT_EQ((*store->stats()).totals.bytes, before);
  }
  EXPECT_EQ(store->list()->size(), 2U);
}

TEST(DiskStore, UsesTheBlocksBeforeADamagedOneAndMendsItWithTheNextSave) {
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(64, 1);
  for (const std::string fault : {"flipped", "missing", "cut off", "swapped"}) {
    SCOPED_TRACE(fault);
    Place place;
    ASSERT_OK_AND_ASSIGN(auto store, place.open());
    ASSERT_OK(store->put(make_entry(space, tokens)));
    ASSERT_OK_AND_ASSIGN(const auto hit, store->find(*space, with(tokens, 1)));
    ASSERT_OK_AND_ASSIGN(const Manifest m, store->load(*space, with(tokens, 1), *hit));
    ASSERT_EQ(m.pieces.size(), 4U);
    const std::string third = "kv/blocks/" + m.pieces[2].block->to_string();
    const std::string first = "kv/blocks/" + m.pieces[0].block->to_string();
    if (fault == "flipped") flip(*place.files, third, 5000);
    if (fault == "missing") {
      ASSERT_OK(place.files->remove(third));
    }
    const std::string content = *read_file(*place.files, first, 1 << 20);
    const auto bytes = std::as_bytes(std::span(content));
    if (fault == "cut off") {
      ASSERT_OK((*place.files->open(third, OpenMode::kCreate))->write_at(0, bytes.first(5000)));
    }
    if (fault == "swapped") {
      ASSERT_OK((*place.files->open(third, OpenMode::kCreate))->write_at(0, bytes));
    }
    EXPECT_EQ(reuse(*store, *space, with(tokens, 1)), 32);
    EXPECT_EQ((*store->stats()).damaged, 1U);
    EXPECT_THAT(place.log.text(), testing::HasSubstr(m.pieces[2].block->to_string()));
    EXPECT_EQ(place.files->exists("kv/quarantine/" + m.pieces[2].block->to_string()), fault != "missing");
    // Now the index knows, too, and nothing is reported twice.
    EXPECT_EQ(reuse(*store, *space, with(tokens, 1)), 32);
    EXPECT_EQ((*store->stats()).damaged, 1U);
    EXPECT_EQ(*store->put(make_entry(space, tokens)), PutOutcome::kSaved);
    EXPECT_EQ(reuse(*store, *space, with(tokens, 1)), 64);
    EXPECT_TRUE((*store->verify()).problems.empty());
  }
}

TEST(DiskStore, ADamagedBlockDoesNotHideAShorterEntryThatIsWhole) {
  Place place;
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(64, 1);
  const auto longer = tokens_of(80, 1);
  // The window makes pages at other places than its own useless.
  ASSERT_OK(store->put(make_entry(space, longer, {.window = 20})));
  ASSERT_OK_AND_ASSIGN(const auto hit, store->find(*space, with(longer, 1)));
  ASSERT_OK_AND_ASSIGN(const Manifest m, store->load(*space, with(longer, 1), *hit));
  ASSERT_OK(store->put(make_entry(space, tokens, {.window = 20})));
  EXPECT_EQ(reuse(*store, *space, with(longer, 1)), 80);
  flip(*place.files, "kv/blocks/" + m.pieces[4].block->to_string(), 4100);
  EXPECT_EQ(reuse(*store, *space, with(longer, 1)), 0);
  EXPECT_EQ(reuse(*store, *space, with(longer, 1)), 64);
}

TEST(DiskStore, ADamagedManifestIsAMissAndGoesIntoQuarantine) {
  Place place;
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(64, 1);
  ASSERT_OK(store->put(make_entry(space, tokens)));
  const std::string name = (*place.files->list("kv/manifests"))[0].name;
  flip(*place.files, "kv/manifests/" + name, 300);
  EXPECT_EQ(reuse(*store, *space, with(tokens, 1)), 0);
  EXPECT_TRUE(place.files->exists("kv/quarantine/" + name));
  EXPECT_TRUE(store->list()->empty());
  EXPECT_EQ(*store->put(make_entry(space, tokens)), PutOutcome::kSaved);
  EXPECT_EQ(reuse(*store, *space, with(tokens, 1)), 64);
}

TEST(DiskStore, WhatIsNoFileInAManifestsPlaceDoesNotEndReindex) {
  Place place;
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  const auto space = test::space_named("model");
  for (uint64_t i = 0; i < 3; ++i) ASSERT_OK(store->put(make_entry(space, tokens_of(64, i))));
  const std::string path = "kv/manifests/" + (*place.files->list("kv/manifests"))[0].name;
  ASSERT_OK(place.files->remove(path));
  ASSERT_OK(place.files->make_directory(path));
  EXPECT_EQ(*store->reindex(), 2);
  EXPECT_EQ(store->list()->size(), 2U);
}

TEST(DiskStore, MakesItsIndexAgainWhenItIsGoneDamagedOrStale) {
  const auto space = test::space_named("model");
  for (const std::string fault : {"deleted", "garbage", "empty", "stale"}) {
    SCOPED_TRACE(fault);
    Place place;
    ASSERT_OK_AND_ASSIGN(auto store, place.open());
    ASSERT_OK(store->put(make_entry(space, tokens_of(64, 1), {.window = 20})));
    store.reset();
    const std::string stale = *read_file(*place.files, "kv/index.db", 1 << 24);
    ASSERT_OK_AND_ASSIGN(store, place.open());
    ASSERT_OK(store->put(make_entry(space, tokens_of(80, 2))));
    const std::string gone = store->list()->back().manifest.to_string();
    store.reset();
    const auto replace = [&](std::string_view content) {
      auto file = *place.files->open("kv/index.db", OpenMode::kCreate);
      ASSERT_OK(file->write_at(0, std::as_bytes(std::span(content))));
    };
    if (fault == "deleted") {
      ASSERT_OK(place.files->remove("kv/index.db"));
    }
    if (fault == "garbage") replace(std::string(20000, 'x'));
    if (fault == "empty") replace("");
    if (fault == "stale") replace(stale);
    ASSERT_OK_AND_ASSIGN(store, place.open());
    EXPECT_EQ(reuse(*store, *space, with(tokens_of(64, 1), 1)), 64);
    EXPECT_EQ(reuse(*store, *space, with(tokens_of(80, 2), 1)), fault == "stale" ? 0 : 80);
    if (fault == "stale") {
      EXPECT_EQ(*store->reindex(), 2);
    }
    EXPECT_EQ(reuse(*store, *space, with(tokens_of(80, 2), 1)), 80);
  }
}

TEST(DiskStore, IsUsedByTwoProcessesAtOnce) {
  // Two stores with connections of their own, on the operating system's files.
  const kvern::test::TemporaryDirectory directory;
  const auto files = make_posix_files();
  const auto io = make_files_io(*files);
  ManualClock clock{std::chrono::system_clock::time_point(std::chrono::hours(24 * 365 * 50))};
  const DiskOptions options{.directory = directory.file("kv"), .chain = {.page = 16}};
  const DiskParts parts{*files, *io, clock, null_log()};
  ASSERT_OK_AND_ASSIGN(const auto one, DiskStore::open(parts, options));
  ASSERT_OK_AND_ASSIGN(const auto two, DiskStore::open(parts, options));
  const auto space = test::space_named("model");
  const auto other = test::space_named("other model");
  ASSERT_OK(one->put(make_entry(space, tokens_of(64, 1))));
  EXPECT_EQ(reuse(*two, *space, with(tokens_of(64, 1), 1)), 64);
  ASSERT_OK(two->put(make_entry(other, tokens_of(64, 1))));
  EXPECT_EQ(reuse(*one, *other, with(tokens_of(64, 1), 1)), 64);
  std::vector<std::thread> threads;
  for (DiskStore* store : {one.get(), two.get()}) {
    threads.emplace_back([&, store] {
      for (uint64_t i = 0; i < 20; ++i) {
        EXPECT_OK(store->put(make_entry(space, tokens_of(40, 100 + i))));
        if (i % 5 == 4) {
          EXPECT_OK(store->collect());
        }
        // The other one may have erased all of them, or this one just now.
        const auto listed = store->list();
        ASSERT_OK(listed);
        if (!listed->empty()) {
          const auto erased = store->erase(listed->front().manifest);
          EXPECT_TRUE(erased || erased.error().code == ErrorCode::kNotFound);
        }
        EXPECT_GE(reuse(*store, *space, with(tokens_of(40, 100 + i), 1)), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE((*one->verify()).problems.empty());
  EXPECT_EQ((*one->stats()).damaged + (*two->stats()).damaged, 0U);
}

TEST(DiskStore, ReadsWhereNothingCanBeWritten) {
  const kvern::test::TemporaryDirectory directory;
  const auto files = make_posix_files();
  const auto io = make_files_io(*files);
  ManualClock clock{std::chrono::system_clock::time_point(std::chrono::hours(24 * 365 * 50))};
  DiskOptions options{.directory = directory.file("kv"), .chain = {.page = 16}};
  const DiskParts parts{*files, *io, clock, null_log()};
  const auto space = test::space_named("model");
  {
    ASSERT_OK_AND_ASSIGN(const auto store, DiskStore::open(parts, options));
    ASSERT_OK(store->put(make_entry(space, tokens_of(64, 1))));
  }
  std::filesystem::permissions(directory.file("kv"),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  options.read_only = true;
  ASSERT_OK_AND_ASSIGN(const auto store, DiskStore::open(parts, options));
  EXPECT_EQ(reuse(*store, *space, with(tokens_of(64, 1), 1)), 64);
  EXPECT_ERROR(store->put(make_entry(space, tokens_of(64, 2))), kInvalidArgument, "reading only");
  EXPECT_ERROR(store->collect(), kInvalidArgument, "reading only");
  std::filesystem::permissions(directory.file("kv"), std::filesystem::perms::owner_all);
}

TEST(DiskStore, StaysRightWhenEveryHashCollides) {
  Place place;
  place.options.chain.hash = [](std::span<const std::byte>) { return Sha256Digest{}; };
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  const auto one = test::space_named("one");
  const auto two = test::space_named("two");
  for (uint64_t seed = 0; seed < 30; ++seed)
    ASSERT_OK(store->put(make_entry(seed % 2 == 0 ? one : two, tokens_of(40, seed), {.window = 8})));
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const auto prompt = with(tokens_of(40, seed), 1);
    EXPECT_EQ(reuse(*store, seed % 2 == 0 ? *one : *two, prompt), 40) << seed;
    EXPECT_EQ(reuse(*store, seed % 2 == 0 ? *two : *one, prompt), 0) << seed;
  }
}

// What a store should hold, as a list.
class PlainStore {
 public:
  struct Entry {
    const PrefixSpace* space;
    std::vector<int32_t> tokens;
    int64_t minimum;
  };

  const std::vector<Entry>& entries() const { return entries_; }

  // Whether it is new.
  bool put(const Entry& added) {
    const auto equal = std::ranges::find_if(entries_, [&](const Entry& e) {
      return e.space == added.space && e.tokens == added.tokens && e.minimum <= added.minimum;
    });
    if (equal != entries_.end()) return false;
    std::erase_if(entries_, [&](const Entry& e) {
      const bool begins = e.tokens.size() <= added.tokens.size() &&
                          std::equal(e.tokens.begin(), e.tokens.end(), added.tokens.begin());
      return e.space == added.space && begins &&
             (e.tokens.size() == added.tokens.size() || e.minimum >= added.minimum);
    });
    entries_.push_back(added);
    return true;
  }

  int64_t find(const PrefixSpace* space, const std::vector<int32_t>& prompt) const {
    int64_t best = 0;
    for (const Entry& e : entries_) {
      if (e.space != space) continue;
      const auto most = static_cast<ptrdiff_t>(std::min(e.tokens.size(), prompt.size()));
      const auto parts = std::mismatch(e.tokens.begin(), e.tokens.begin() + most, prompt.begin());
      const int64_t use = std::min<int64_t>(parts.first - e.tokens.begin(), std::ssize(prompt) - 1);
      if (use > 0 && use >= e.minimum) best = std::max(best, use);
    }
    return best;
  }

 private:
  std::vector<Entry> entries_;
};

struct Draw {
  uint64_t state;
  uint64_t operator()(uint64_t n) { return (state = test::mix(state + 77)) % n; }
};

// Few different tokens and common beginnings, so that prompts share much.
std::vector<int32_t> some_tokens(Draw& draw) {
  const uint64_t kind = draw(2);  // before the length on every compiler: the order of arguments is theirs
  std::vector<int32_t> tokens = tokens_of(static_cast<int64_t>(draw(60)), kind);
  for (uint64_t i = draw(40) + 1; i > 0; --i) tokens.push_back(static_cast<int32_t>(draw(2)));
  return tokens;
}

TEST(DiskStore, AnswersAsAPlainListWouldOnRandomSaves) {
  for (uint64_t round = 0; round < 60; ++round) {
    Place place;
    ASSERT_OK_AND_ASSIGN(auto store, place.open());
    Draw draw{round + 1};
    const std::shared_ptr<const PrefixSpace> spaces[] = {test::space_named("a"), test::space_named("b")};
    PlainStore plain;
    for (int step = 0; step < 40; ++step) {
      const auto& space = spaces[draw(2)];
      if (draw(3) > 0) {
        NewEntry entry = make_entry(space, some_tokens(draw));
        const auto length = entry.tokens.size();
        const uint64_t kind = draw(4);
        entry.minimum_reusable = static_cast<int64_t>(kind < 2 ? 0 : kind == 2 ? length : draw(length + 1));
        const bool is_new = plain.put({space.get(), entry.tokens, entry.minimum_reusable});
        ASSERT_EQ(*store->put(entry), is_new ? PutOutcome::kSaved : PutOutcome::kThere);
        ASSERT_EQ(store->list()->size(), plain.entries().size());
      }
      const std::vector<int32_t> prompt = some_tokens(draw);
      ASSERT_EQ(reuse(*store, *space, prompt), plain.find(space.get(), prompt)) << round << " " << step;
    }
    // The same from an index that is made again; in another order of saves, more can turn out to be useless.
    ASSERT_LE(*store->reindex(), std::ssize(plain.entries()));
    ASSERT_OK(store->collect());
    for (const PlainStore::Entry& e : plain.entries())
      ASSERT_EQ(reuse(*store, *e.space, with(e.tokens, 9)), std::ssize(e.tokens));
    EXPECT_TRUE((*store->verify()).problems.empty());
  }
}

TEST(DiskStore, BringsNothingBackThatWasReplacedWhenTheIndexIsMadeAgain) {
  Place place;
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  const auto space = test::space_named("model");
  constexpr uint64_t kEntries = 8;  // their files are read in the order of their hashes
  for (uint64_t i = 0; i < kEntries; ++i) {
    NewEntry entry = make_entry(space, tokens_of(40, i));
    entry.minimum_reusable = 30;
    ASSERT_OK(store->put(entry));
    entry.minimum_reusable = 0;
    ASSERT_OK(store->put(entry));
  }
  EXPECT_EQ(*store->reindex(), static_cast<int64_t>(kEntries));
  for (uint64_t i = 0; i < kEntries; ++i) {
    const auto tokens = tokens_of(40, i);
    EXPECT_EQ(reuse(*store, *space, with({tokens.begin(), tokens.begin() + 20}, 9)), 20) << i;
  }
}

TEST(DiskStore, KeepsAttachmentsAndCheckpoints) {
  Place place;
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  const auto space = test::space_named("model");
  NewEntry entry = make_entry(space, tokens_of(40, 1));
  entry.attachments = {{"session", test::sample_bytes(5000, 2)}};
  entry.checkpoint = Checkpoint{.prompt_tokens = 30, .generated_tokens = 10, .seed = 5};
  ASSERT_OK(store->put(entry));
  // A longer entry does not replace what has more to it than its tokens.
  ASSERT_OK(store->put(make_entry(space, tokens_of(80, 1))));
  ASSERT_EQ(store->list()->size(), 2U);
  ASSERT_OK_AND_ASSIGN(const Manifest m, store->manifest(store->list()->back().manifest));
  EXPECT_EQ(m.attachments, entry.attachments);
  EXPECT_EQ(m.checkpoint, entry.checkpoint);
  EXPECT_TRUE(*store->covers(*space, tokens_of(40, 1)));
  EXPECT_TRUE(*store->covers(*space, tokens_of(33, 1)));
  EXPECT_FALSE(*store->covers(*space, tokens_of(81, 1)));
}

TEST(DiskStore, KeepsPinsWhenEqualTokensComeAndWhenTheIndexIsMadeAgain) {
  Place place;
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(100, 1);
  NewEntry entry = make_entry(space, std::vector(tokens.begin(), tokens.begin() + 50));
  entry.minimum_reusable = 40;
  ASSERT_OK(store->put(entry));
  const ContentName pinned = store->list()->front().manifest;
  ASSERT_OK(store->set_pinned(pinned, true));
  ASSERT_OK(store->put(make_entry(space, tokens)));
  EXPECT_EQ(store->list()->size(), 2U);
  EXPECT_EQ(*store->reindex(), 2);
  ASSERT_OK_AND_ASSIGN(const EntryDetails details, store->details(pinned));
  EXPECT_TRUE(details.entry.pinned);
  // Now one of the same tokens that is of more use.
  place.clock.advance(std::chrono::seconds(5));
  entry.minimum_reusable = 0;
  ASSERT_OK(store->put(entry));
  EXPECT_ERROR(store->details(pinned), kNotFound, "no such");
  int64_t pins = 0;
  for (const ListedEntry& listed_entry : listed(*store)) pins += listed_entry.pinned ? 1 : 0;
  EXPECT_EQ(pins, 1);
}

TEST(DiskStore, SaysWhatADirectoryIsThatIsNoStore) {
  Place place;
  place.options.create = false;
  EXPECT_ERROR(place.open(), kNotFound, "no such directory");
  ASSERT_OK(place.files->make_directory("kv"));
  EXPECT_ERROR(place.open(), kInvalidArgument, "neither index.db nor manifests");
  place.options.read_only = true;
  EXPECT_ERROR(place.open(), kInvalidArgument, "neither index.db nor manifests");
  EXPECT_TRUE(place.files->list("kv")->empty());
  place.options = {.directory = "kv", .chain = {.page = 16}};
  ASSERT_OK(place.open());
  place.options.read_only = true;
  ASSERT_OK_AND_ASSIGN(const auto reader, place.open());
  EXPECT_TRUE(reader->list()->empty());
  EXPECT_EQ(reader->stats()->totals.entries, 0);
  ASSERT_OK(place.files->remove("kv/index.db"));
  EXPECT_ERROR(place.open(), kCorrupt, "missing");
  ASSERT_OK((*place.files->open("file", OpenMode::kCreate))->sync());
  place.options.directory = "file";
  EXPECT_ERROR(place.open(), kInvalidArgument, "is a file");
}

TEST(DiskStore, RefusesWhatItCannotKeep) {
  Place place;
  place.options.chain.page = 0;
  EXPECT_ERROR(place.open(), kInvalidArgument, "page");
  place.options.chain.page = 16;
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  EXPECT_ERROR(store->put(make_entry(test::space_named("m"), {})), kInvalidArgument, "token");
  EXPECT_ERROR(store->erase({}), kNotFound, "no such");
  EXPECT_ERROR(store->set_pinned({}, true), kNotFound, "no such");
  // A directory keeps the pages that it was made with.
  store.reset();
  place.options.chain.page = 64;
  ASSERT_OK_AND_ASSIGN(store, place.open());
  EXPECT_EQ(store->page(), 16);
}

}  // namespace
}  // namespace kvern::store
