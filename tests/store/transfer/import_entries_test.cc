// Prefixes into a directory: all of them whole, or none, whatever the file is and whenever the power goes.
#include "store/transfer/import_entries.h"

#include <gtest/gtest.h>

#include "base/faulty_files.h"
#include "store/transfer/transfers.h"
#include "support/crash_disk.h"
#include "support/result_matchers.h"

namespace kvern::store {
namespace {

using kvern::test::CrashChoice;
using kvern::test::CrashDisk;
using kvern::test::RecordingFiles;
using test::Bytes;
using test::make_entry;
using test::Place;
using test::SampleEntries;
using test::source_of;
using test::tokens_of;

Bytes sample_file() {
  Place place;
  const auto store = *place.open();
  static_cast<void>(SampleEntries().put(*store));
  return test::exported(*store);
}

TEST(Import, BringsEverythingToAnotherDirectory) {
  const Bytes bytes = sample_file();
  const SampleEntries samples;
  Place place;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  int64_t last = 0;
  ASSERT_OK_AND_ASSIGN(const IncomingReport report,
                       import_entries(*store, source_of(bytes), {}, [&](int64_t done, int64_t all) {
                         EXPECT_EQ(all, std::ssize(bytes));
                         EXPECT_GT(done, last);
                         last = done;
                         return true;
                       }));
  EXPECT_EQ(report.saved, 3);
  EXPECT_EQ(report.there, 0);
  EXPECT_EQ(report.entries.size(), 3U);
  for (const auto& tokens : samples.all()) EXPECT_EQ(samples.found(*store, tokens), std::ssize(tokens));
  EXPECT_TRUE(store->verify()->problems.empty());
  EXPECT_EQ(store->collect()->files_removed, 0);
  // What comes out is what went in.
  Bytes again;
  ASSERT_OK(export_entries(*store, report.entries, test::sink_into(again)));
  EXPECT_EQ(again, bytes);
}

TEST(Import, AgainChangesNothing) {
  const Bytes bytes = sample_file();
  Place place;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  ASSERT_OK(import_entries(*store, source_of(bytes), {}));
  const DiskStats before = *store->stats();
  ASSERT_OK_AND_ASSIGN(const IncomingReport report, import_entries(*store, source_of(bytes), {}));
  EXPECT_EQ(report.saved, 0);
  EXPECT_EQ(report.there, 3);
  EXPECT_EQ(report.blocks_written, 0);
  EXPECT_EQ(store->stats()->bytes_written, before.bytes_written);
  EXPECT_EQ(store->stats()->totals.entries, 3);
  // Also where the same tokens were saved here.
  Place other;
  ASSERT_OK_AND_ASSIGN(const auto local, other.open());
  other.clock.advance(std::chrono::hours(1));
  ASSERT_OK(SampleEntries().put(*local));
  const auto names = test::names_of(*local);
  ASSERT_OK_AND_ASSIGN(const IncomingReport there,
                       import_entries(*local, source_of(bytes), {.pinned = true}));
  EXPECT_EQ(there.there, 3);
  for (const ContentName& name : there.entries) EXPECT_TRUE(std::ranges::count(names, name) == 1);
  ASSERT_OK_AND_ASSIGN(const auto entries, local->list());
  for (const ListedEntry& entry : entries) EXPECT_TRUE(entry.pinned);
}

TEST(Import, MendsWhatIsDamagedHere) {
  const Bytes bytes = sample_file();
  const SampleEntries samples;
  Place place;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  ASSERT_OK(import_entries(*store, source_of(bytes), {}));
  ASSERT_OK_AND_ASSIGN(const auto blocks, place.files->list("kv/blocks"));
  for (const DirectoryEntry& block : blocks) ASSERT_OK(place.files->remove("kv/blocks/" + block.name));
  ASSERT_OK(store->verify());
  EXPECT_EQ(samples.found(*store, samples.first), 0);
  ASSERT_OK_AND_ASSIGN(const IncomingReport report, import_entries(*store, source_of(bytes), {}));
  EXPECT_GT(report.saved, 0);
  for (const auto& tokens : samples.all()) EXPECT_EQ(samples.found(*store, tokens), std::ssize(tokens));
}

TEST(Import, RefusesOtherModelsClientsAndPagesAndNamesBoth) {
  const Bytes bytes = sample_file();
  const SampleEntries samples;
  Place place;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  const ModelFingerprint wanted{test::digest_of("another model")};
  const auto refused = import_entries(*store, source_of(bytes), {.model = wanted});
  EXPECT_ERROR(refused, kInvalidArgument, samples.space->identity.model.to_string());
  EXPECT_ERROR(refused, kInvalidArgument, wanted.to_string());
  PrefixSpace client = *samples.space;
  client.root = test::digest_of("another client");
  const auto foreign =
      import_entries(*store, source_of(bytes), {.model = samples.space->identity.model, .space = client});
  EXPECT_ERROR(foreign, kInvalidArgument, to_hex(client.root));
  EXPECT_ERROR(foreign, kInvalidArgument, to_hex(samples.space->root));
  PrefixSpace mixed = *samples.space;
  mixed.names = client.root;
  EXPECT_ERROR(import_entries(*store, source_of(bytes), {.space = mixed}), kInvalidArgument,
               "contradicts itself");
  EXPECT_TRUE(store->list()->empty());
  EXPECT_OK(import_entries(*store, source_of(bytes),
                           {.model = samples.space->identity.model, .space = *samples.space}));
  Place pages;
  pages.options.chain.page = 32;
  ASSERT_OK_AND_ASSIGN(const auto other, pages.open());
  EXPECT_ERROR(import_entries(*other, source_of(bytes), {}), kUnsupported,
               "pages of 16 positions, its directory of 32");
}

TEST(Import, RefusesWhatComesBehindTheEnd) {
  Bytes bytes = sample_file();
  bytes.push_back(std::byte{0});
  Place place;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  EXPECT_ERROR(import_entries(*store, source_of(bytes), {}), kCorrupt, "behind its end");
  EXPECT_TRUE(store->list()->empty());
}

TEST(Import, OfADamagedFileShowsNothing) {
  const Bytes good = sample_file();
  for (size_t at = 3; at < good.size(); at += 997) {
    Bytes bytes = good;
    bytes[at] ^= std::byte{1};
    Place place;
    ASSERT_OK_AND_ASSIGN(const auto store, place.open());
    EXPECT_FALSE(import_entries(*store, source_of(bytes), {}).has_value()) << at;
    EXPECT_TRUE(store->list()->empty());
    ASSERT_OK(store->collect());
    EXPECT_TRUE(place.files->list("kv/blocks")->empty());
  }
}

TEST(Import, RefusesEntriesWithoutTheirBlocksAndMoreThanThereMayBe) {
  Place from;
  ASSERT_OK_AND_ASSIGN(const auto source, from.open());
  ASSERT_OK(SampleEntries().put(*source));
  // A file that is right in itself, and lacks the blocks of its entry.
  const ContentName name = test::names_of(*source).front();
  const auto manifest = *source->manifest_file(name);
  Bytes bytes;
  ExportWriter writer(test::sink_into(bytes));
  ASSERT_OK(writer.begin(
      {.entries = 1, .blocks = 0, .file_bytes = export_frame_bytes() + record_bytes(manifest.size())}));
  ASSERT_OK(writer.add(RecordKind::kManifest, name, manifest.bytes()));
  ASSERT_OK(writer.end());
  Place place;
  place.options.max_bytes = 30000;
  place.options.limit_of = LimitOf::kEntries;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  EXPECT_ERROR(import_entries(*store, source_of(bytes), {}), kCorrupt, "did not come with it");
  EXPECT_ERROR(import_entries(*store, source_of(sample_file()), {}), kExhausted, "may hold 30000");
  EXPECT_TRUE(store->list()->empty());
  place.options.read_only = true;
  ASSERT_OK_AND_ASSIGN(const auto reader, place.open());
  EXPECT_ERROR(import_entries(*reader, source_of(bytes), {}), kInvalidArgument, "reading only");
}

TEST(Import, RefusesTokensThatAVocabularyHasNot) {
  const Bytes bytes = sample_file();
  const int32_t largest = std::ranges::max(SampleEntries().first);
  Place place;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  const auto refused = import_entries(*store, source_of(bytes), {.vocabulary = largest});
  EXPECT_ERROR(refused, kInvalidArgument, "of this prefix is");
  EXPECT_ERROR(refused, kInvalidArgument, "ids of tokens are 0 to " + std::to_string(largest - 1));
  EXPECT_TRUE(store->list()->empty());
  EXPECT_OK(import_entries(*store, source_of(bytes), {.vocabulary = 50000}));
  // None has a token like this.
  Place other;
  ASSERT_OK_AND_ASSIGN(const auto source, other.open());
  ASSERT_OK(source->put(make_entry(SampleEntries().space, {1, 2, -5, 4})));
  const Bytes negative = test::exported(*source);
  EXPECT_ERROR(import_entries(*store, source_of(negative), {}), kInvalidArgument,
               "token 2 of this prefix is -5");
  EXPECT_EQ(store->list()->size(), 3U);
}

TEST(Import, SaysWhenPinsLeaveNoRoom) {
  Place place;
  place.options.limit_of = LimitOf::kEntries;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  const auto space = test::space_named("model");
  ASSERT_OK(store->put(make_entry(space, tokens_of(130, 7))));
  ASSERT_OK(store->set_pinned(test::names_of(*store).front(), true));
  const Bytes bytes = sample_file();
  ASSERT_OK(store->set_max_bytes(bytes.size() + 4096));
  EXPECT_ERROR(import_entries(*store, source_of(bytes), {}), kExhausted, "pinned prefixes hold");
  ASSERT_OK(store->set_max_bytes(4 * bytes.size()));
  EXPECT_OK(import_entries(*store, source_of(bytes), {}));
}

TEST(Import, StopsWhenItIsTold) {
  const Bytes bytes = sample_file();
  Place place;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  EXPECT_ERROR(import_entries(*store, source_of(bytes), {}, [](int64_t, int64_t) { return false; }),
               kCancelled, "interrupted");
  EXPECT_TRUE(store->list()->empty());
}

TEST(Import, LeavesWholeEntriesWheneverThePowerGoes) {
  const Bytes bytes = sample_file();
  const SampleEntries samples;
  RecordingFiles files;
  {
    Place place;
    const auto io = make_files_io(files);
    ASSERT_OK_AND_ASSIGN(const auto store,
                         DiskStore::open({files, *io, place.clock, place.log}, place.options));
    ASSERT_OK(import_entries(*store, source_of(bytes), {}));
  }
  const auto record = files.record();
  CrashDisk disk(record);
  int64_t states = 0;
  int64_t some = 0;
  while (true) {
    for (uint64_t variant = 0; variant < 3; ++variant) {
      constexpr CrashChoice::What kWhat[] = {CrashChoice::What::kNothing, CrashChoice::What::kAll,
                                             CrashChoice::What::kAny};
      Place place;
      place.files = disk.image({.data = kWhat[variant], .names = kWhat[variant], .seed = disk.done()});
      place.io = make_files_io(*place.files);
      ASSERT_OK_AND_ASSIGN(const auto store, place.open());
      int64_t found = 0;
      for (const auto& tokens : samples.all()) {
        const int64_t got = samples.found(*store, tokens);
        // The second begins as the first does; it may be had from there.
        ASSERT_TRUE(got == 0 || got == std::ssize(tokens) || (tokens == samples.second && got == 64) ||
                    (tokens == samples.first && got == 64))
            << got << " after call " << disk.done();
        found += got > 0 ? 1 : 0;
      }
      if (disk.done() == record.size()) {
        ASSERT_EQ(found, 3);
      }
      some += found == 1 || found == 2 ? 1 : 0;
      ++states;
      // And once more, to the end.
      if (states % 16 != 0) continue;
      ASSERT_OK(import_entries(*store, source_of(bytes), {}));
      for (const auto& tokens : samples.all()) ASSERT_EQ(samples.found(*store, tokens), std::ssize(tokens));
    }
    if (disk.done() == record.size()) break;
    disk.advance();
  }
  EXPECT_GT(states, 100);
  EXPECT_GT(some, 0);
}

TEST(Import, ThatFailsAtAnyCallShowsWholeEntriesOnly) {
  const Bytes bytes = sample_file();
  const SampleEntries samples;
  for (uint64_t at = 0;; at += 3) {
    Place place;
    FaultyFiles faulty(*place.files);
    const auto io = make_files_io(faulty);
    ASSERT_OK_AND_ASSIGN(auto store, DiskStore::open({faulty, *io, place.clock, place.log}, place.options));
    faulty.set_plan({.at = at});
    const auto report = import_entries(*store, source_of(bytes), {});
    const bool hit = faulty.operations() > at;
    faulty.set_plan({});
    store.reset();
    ASSERT_OK_AND_ASSIGN(store, place.open());
    for (const auto& tokens : samples.all()) {
      const int64_t got = samples.found(*store, tokens);
      ASSERT_GE(got, 0);
      if (report) {
        ASSERT_EQ(got, std::ssize(tokens));
      }
    }
    if (!hit) break;
  }
}

}  // namespace
}  // namespace kvern::store
