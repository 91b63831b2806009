// Entries into blocks and a manifest, and whether what comes back is what was meant.
#include "store/disk/entry_parts.h"

#include <gtest/gtest.h>

#include "store/block/manifest_format.h"
#include "store/entries.h"
#include "support/result_matchers.h"

namespace kvern::store {
namespace {

using test::make_entry;
using test::tokens_of;

TEST(EntryParts, WholePagesAreBlocksThatSayWhatTheyAre) {
  const auto space = test::space_named("model");
  const NewEntry entry = make_entry(space, tokens_of(100, 1), {.window = 20, .recurrent = true});
  std::vector<PackedBlock> blocks;
  ASSERT_OK_AND_ASSIGN(const Manifest m, pack_entry(entry, {.page = 16, .created_seconds = 5},
                                                    [&](PackedBlock block) -> Status {
                                                      blocks.push_back(std::move(block));
                                                      return Ok{};
                                                    }));
  size_t next = 0;
  for (size_t i = 0; i < m.pieces.size(); ++i) {
    if (!m.pieces[i].block) continue;
    const PackedBlock& block = blocks.at(next++);
    EXPECT_EQ(block.name, *m.pieces[i].block);
    EXPECT_EQ(block.first, m.pieces[i].positions.begin);
    EXPECT_EQ(block.bytes.size(), block_bytes_of(m, i));
    ASSERT_OK_AND_ASSIGN(const BlockView view,
                         decode_block(block.name, block.bytes.bytes(), BlockCheck::kName));
    EXPECT_EQ(view.info, block_info_of(m, i));
    std::vector<std::byte> right(view.payload.size());
    entry.pieces->read(m.pieces[i].store, m.pieces[i].positions, right);
    EXPECT_TRUE(std::ranges::equal(right, view.payload));
  }
  EXPECT_EQ(next, blocks.size());
  EXPECT_GT(next, 6U);
  const EncodedManifest encoded = encode_manifest(m);
  ASSERT_OK_AND_ASSIGN(const Manifest again, decode_manifest(encoded.name, encoded.bytes));
  EXPECT_EQ(again.created_seconds, 5);
  EXPECT_ERROR(
      pack_entry(entry, {.page = 16}, [](PackedBlock) -> Status { return fail(ErrorCode::kIo, "no"); }), kIo,
      "no");
}

TEST(EntryParts, AnEntryOfAnythingElseIsNotTheOneThatWasWanted) {
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(100, 1);
  NewEntry entry = make_entry(space, tokens);
  entry.minimum_reusable = 40;
  const Manifest m = *pack_entry(entry, {.page = 16}, [](PackedBlock) -> Status { return Ok{}; });
  const auto is = [&](const PrefixSpace& whose, std::span<const int32_t> prompt, int64_t count,
                      int64_t page = 16) {
    return is_entry_of(m, {.space = whose, .prompt = prompt, .tokens = count, .page = page});
  };
  EXPECT_TRUE(is(*space, tokens, 100));
  EXPECT_TRUE(is(*space, tokens, 40));
  EXPECT_FALSE(is(*space, tokens, 39));
  EXPECT_FALSE(is(*space, tokens, 101));
  EXPECT_FALSE(is(*space, tokens, 100, 32));
  auto other = tokens;
  other[99] += 1;
  EXPECT_FALSE(is(*space, other, 100));
  EXPECT_TRUE(is(*space, other, 99));
  const auto changed = [&](const auto& change) {
    PrefixIdentity identity = space->identity;
    change(identity);
    return is(make_prefix_space(identity), tokens, 100);
  };
  EXPECT_FALSE(changed([](PrefixIdentity& i) { i.model.digest[0] ^= std::byte{1}; }));
  EXPECT_FALSE(changed([](PrefixIdentity& i) { i.tokenizer[0] ^= std::byte{1}; }));
  EXPECT_FALSE(changed([](PrefixIdentity& i) { i.cache += "x"; }));
  EXPECT_FALSE(changed([](PrefixIdentity& i) { i.tenant += "x"; }));
  EXPECT_FALSE(changed([](PrefixIdentity& i) { i.adapter += "x"; }));
}

}  // namespace
}  // namespace kvern::store
