// Prefixes out of a directory.
#include "store/transfer/export_entries.h"

#include <gtest/gtest.h>

#include "store/transfer/transfers.h"
#include "support/result_matchers.h"

namespace kvern::store {
namespace {

using test::Bytes;

struct Exporting : testing::Test {
  test::Place place;
  test::SampleEntries samples;
  std::unique_ptr<DiskStore> store;
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(store, place.open());
    ASSERT_OK(samples.put(*store));
  }
};

TEST_F(Exporting, WritesEveryEntryAndBlockOnce) {
  const auto names = test::names_of(*store);
  auto twice = names;
  twice.insert(twice.end(), names.begin(), names.end());
  Bytes bytes;
  ASSERT_OK_AND_ASSIGN(const TransferReport report, export_entries(*store, twice, test::sink_into(bytes)));
  EXPECT_EQ(report.entries, 3);
  EXPECT_EQ(report.blocks, store->stats()->totals.blocks);
  EXPECT_EQ(report.bytes, bytes.size());
  EXPECT_EQ(bytes, test::exported(*store));
}

TEST_F(Exporting, CountsBytesAndStopsWhenItIsTold) {
  const auto names = test::names_of(*store);
  Bytes bytes;
  int64_t last = 0;
  int64_t all = 0;
  ASSERT_OK(export_entries(*store, names, test::sink_into(bytes), [&](int64_t done, int64_t of) {
    EXPECT_GT(done, last);
    last = done;
    all = of;
    return true;
  }));
  EXPECT_EQ(all, std::ssize(bytes));
  EXPECT_LT(last, all);
  EXPECT_ERROR(export_entries(*store, names, test::sink_into(bytes), [](int64_t, int64_t) { return false; }),
               kCancelled, "interrupted");
}

TEST_F(Exporting, SaysWhatIsDamagedOrGone) {
  const auto names = test::names_of(*store);
  Bytes bytes;
  EXPECT_ERROR(
      export_entries(*store, std::vector{ContentName{test::digest_of("none")}}, test::sink_into(bytes)),
      kNotFound, "");
  ASSERT_OK_AND_ASSIGN(const Manifest manifest, store->manifest(names.front()));
  const std::string path = "kv/blocks/" + manifest.pieces[0].block->to_string();
  auto file = *place.files->open(path, OpenMode::kUpdate);
  const std::byte wrong{0x5A};
  ASSERT_OK(file->write_at(5000, {&wrong, 1}));
  EXPECT_ERROR(export_entries(*store, names, test::sink_into(bytes)), kCorrupt, "checksum");
  // It is in quarantine now, and the entry of use up to there only.
  EXPECT_FALSE(place.files->exists(path));
  EXPECT_EQ(store->details(names.front())->entry.usable, 0);
}

TEST_F(Exporting, PassesOnWhatTheSinkSays) {
  const auto names = test::names_of(*store);
  int calls = 0;
  EXPECT_ERROR(export_entries(*store, names,
                              [&](std::span<const std::byte>) -> Status {
                                if (++calls < 4) return Ok{};
                                return fail(ErrorCode::kExhausted, "full");
                              }),
               kExhausted, "full");
}

}  // namespace
}  // namespace kvern::store
