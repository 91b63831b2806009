// What an index says of its entries.
#include "store/index/index_report.h"

#include <gtest/gtest.h>

#include "store/entries.h"
#include "support/result_matchers.h"

namespace kvern::store {
namespace {

using test::make_entry;
using test::Place;
using test::tokens_of;

TEST(IndexReport, CountsWhatIsSharedAndWhatIsLost) {
  Place place;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  const auto space = test::space_named("model");
  auto longer = tokens_of(64, 1);
  for (const int32_t token : tokens_of(40, 2)) longer.push_back(token);
  auto other = tokens_of(64, 1);
  for (const int32_t token : tokens_of(40, 3)) other.push_back(token);
  ASSERT_OK(store->put(make_entry(space, longer)));
  place.clock.advance(std::chrono::seconds(1));
  ASSERT_OK(store->put(make_entry(space, other)));
  ASSERT_OK_AND_ASSIGN(const auto entries, store->list());
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_GT(entries[0].used, entries[1].used);
  EXPECT_EQ(entries[0].root, space->root);
  EXPECT_FALSE(entries[0].extras);
  ASSERT_OK_AND_ASSIGN(const EntryDetails details, store->details(entries[0].manifest));
  EXPECT_EQ(details.blocks.blocks, 6);
  EXPECT_EQ(details.blocks.shared_blocks, 4);
  EXPECT_EQ(details.blocks.shared_bytes * 6, details.blocks.bytes * 4);
  EXPECT_EQ(details.blocks.lost_blocks, 0);
  const DiskStats stats = *store->stats();
  EXPECT_EQ(stats.totals.bytes, entries[0].bytes + entries[1].bytes - details.blocks.shared_bytes);
  EXPECT_EQ(stats.totals.blocks, 8);

  ASSERT_OK_AND_ASSIGN(const Manifest manifest, store->manifest(entries[0].manifest));
  ASSERT_OK(place.files->remove("kv/blocks/" + manifest.pieces[0].block->to_string()));
  EXPECT_EQ(store->verify()->problems.size(), 2U);  // both entries lack it
  EXPECT_EQ(store->details(entries[0].manifest)->blocks.lost_blocks, 1);
  EXPECT_EQ(store->list()->front().usable, 0);
  EXPECT_ERROR(store->details({test::digest_of("none")}), kNotFound, "no such");
}

}  // namespace
}  // namespace kvern::store
