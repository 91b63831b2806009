// Entries on their way in hold off those who would remove what they rely on. What comes of them is tested in
// tests/store/transfer/import_entries_test.cc.
#include "store/disk/incoming_entries.h"

#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

#include "store/block/manifest_format.h"
#include "store/entries.h"
#include "support/result_matchers.h"

namespace kvern::store {
namespace {

using test::make_entry;
using test::Place;
using test::tokens_of;

TEST(IncomingEntries, RelyOnBlocksThatAreHereAndKeepThem) {
  Place from;
  ASSERT_OK_AND_ASSIGN(const auto source, from.open());
  const auto space = test::space_named("model");
  ASSERT_OK(source->put(make_entry(space, tokens_of(40, 1))));
  const ContentName name = source->list()->front().manifest;
  const auto bytes = *source->manifest_file(name);
  const std::vector<std::byte> manifest(bytes.bytes().begin(), bytes.bytes().end());

  Place place;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  auto longer = tokens_of(40, 1);
  for (const int32_t token : tokens_of(20, 2)) longer.push_back(token);
  ASSERT_OK(store->put(make_entry(space, longer)));
  const ContentName local = store->list()->front().manifest;
  std::thread remover;
  {
    ASSERT_OK_AND_ASSIGN(IncomingEntries incoming, IncomingEntries::begin(*store));
    ASSERT_OK(incoming.add_manifest(name, manifest));
    remover = std::thread([&] { EXPECT_OK(store->erase(local)); });
    ASSERT_OK_AND_ASSIGN(const IncomingReport report, incoming.commit(true));
    EXPECT_EQ(report.saved, 1);
  }
  remover.join();
  ASSERT_EQ(store->list()->size(), 1U);
  EXPECT_TRUE(store->list()->front().pinned);
  EXPECT_EQ(store->list()->front().usable, 40);
  EXPECT_TRUE(store->verify()->problems.empty());
}

// Who knows or guesses the name of a block does not get at it.
TEST(IncomingEntries, NameNoBlocksOfOtherClients) {
  Place place;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  ASSERT_OK(store->put(make_entry(test::space_named("model"), tokens_of(40, 1))));
  Manifest manifest = *store->manifest(store->list()->front().manifest);
  const auto refused = [&](const Manifest& changed) {
    EncodedManifest encoded = encode_manifest(changed);
    auto incoming = IncomingEntries::begin(*store);
    ASSERT_TRUE(incoming.has_value());
    EXPECT_ERROR(incoming->add_manifest(encoded.name, std::move(encoded.bytes)), kCorrupt,
                 "did not come with it");
  };
  Manifest foreign = manifest;
  foreign.space = test::digest_of("another client");
  refused(foreign);
  Manifest swapped = manifest;
  const auto has_block = [](const ManifestPiece& piece) { return piece.block.has_value(); };
  const auto first = std::ranges::find_if(swapped.pieces, has_block);
  const auto second = std::find_if(std::next(first), swapped.pieces.end(), has_block);
  ASSERT_NE(second, swapped.pieces.end());
  std::swap(first->block, second->block);
  refused(swapped);
  EXPECT_TRUE(store->verify()->problems.empty());
}

TEST(IncomingEntries, ThatAreGivenUpLeaveNothing) {
  Place place;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  BlockBuilder block = test::sample_block();
  const ContentName name = block.finish();
  {
    ASSERT_OK_AND_ASSIGN(IncomingEntries incoming, IncomingEntries::begin(*store));
    ASSERT_OK(incoming.add_block(name, block.bytes()));
    ASSERT_OK(incoming.add_block(name, block.bytes()));
    EXPECT_EQ(place.files->list("kv/blocks")->size(), 1U);
  }
  EXPECT_TRUE(place.files->list("kv/blocks")->empty());
}

TEST(IncomingEntries, KeepOnlyBlocksThatAnEntryNames) {
  Place from;
  ASSERT_OK_AND_ASSIGN(const auto source, from.open());
  const auto space = test::space_named("model");
  ASSERT_OK(source->put(make_entry(space, tokens_of(40, 1))));
  const ContentName name = source->list()->front().manifest;
  const auto manifest = *source->manifest_file(name);
  const Manifest decoded = *source->manifest(name);

  Place place;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  ASSERT_OK_AND_ASSIGN(IncomingEntries incoming, IncomingEntries::begin(*store));
  BlockBuilder stray = test::sample_block();
  const ContentName stray_name = stray.finish();
  ASSERT_OK(incoming.add_block(stray_name, stray.bytes()));
  for (const ManifestPiece& piece : decoded.pieces) {
    if (!piece.block) continue;
    const auto block = *source->block_file(*piece.block);
    ASSERT_OK(incoming.add_block(*piece.block, block.bytes()));
  }
  ASSERT_OK(incoming.add_manifest(name, {manifest.bytes().begin(), manifest.bytes().end()}));
  ASSERT_OK(incoming.commit(false));
  EXPECT_FALSE(place.files->exists("kv/blocks/" + stray_name.to_string()));
  EXPECT_TRUE(store->verify()->problems.empty());
  EXPECT_EQ(store->list()->front().usable, 40);
}

}  // namespace
}  // namespace kvern::store
