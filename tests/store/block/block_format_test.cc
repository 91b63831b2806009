// Blocks: what is written is read, and nothing else is.
#include "store/block/block_format.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "store/block/checksum.h"
#include "store/samples.h"
#include "support/result_matchers.h"

namespace kvern::store {
namespace {

constexpr size_t kChecksumAt = 160;

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

std::vector<std::byte> file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return copy_of(std::as_bytes(std::span(text)));
}

TEST(Block, IsReadAsItWasWritten) {
  BlockBuilder block = test::sample_block();
  const ContentName name = block.finish();
  for (const BlockCheck check : {BlockCheck::kChecksum, BlockCheck::kName}) {
    ASSERT_OK_AND_ASSIGN(const BlockView view, decode_block(name, block.bytes(), check));
    EXPECT_EQ(view.info, test::sample_block_info());
    EXPECT_TRUE(std::ranges::equal(view.payload, block.payload()));
  }
  EXPECT_EQ(block.bytes().size(), 2 * kIoAlignment);
  EXPECT_EQ(block.bytes().size(), block_file_bytes(test::sample_block_info(), 16 * 72));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block.payload().data()) % kIoAlignment, 0U);
}

TEST(Block, OfVersionOneOpensForEver) {
  const std::string path = KVERN_TEST_DATA_DIR "/formats/kv-block-1.kvb";
  const auto bytes = file_bytes(path);
  const ContentName name =
      *parse_content_name("77d254bc04397e3ba8586f84ce5ae602792c7f45c2fbdb882dad837e4efc6658");
  ASSERT_OK_AND_ASSIGN(const BlockView view, decode_block(name, bytes, BlockCheck::kName));
  EXPECT_EQ(view.info, test::sample_block_info());
  BlockBuilder again = test::sample_block();
  EXPECT_EQ(again.finish(), name);
  EXPECT_EQ(copy_of(again.bytes()), bytes);
}

// Makes the golden file of a new version: run with --gtest_also_run_disabled_tests.
TEST(Block, DISABLED_WritesItsGoldenFile) {
  BlockBuilder block = test::sample_block();
  const ContentName name = block.finish();
  std::ofstream out(KVERN_TEST_DATA_DIR "/formats/kv-block-1.kvb", std::ios::binary);
  out.write(reinterpret_cast<const char*>(block.bytes().data()), std::ssize(block.bytes()));
  std::cout << name.to_string() << "\n";
}

TEST(Block, HasTheNameOfAllThatItSays) {
  BlockBuilder first = test::sample_block();
  const ContentName name = first.finish();
  const auto other = [&](const auto& change) {
    BlockInfo info = test::sample_block_info();
    change(info);
    BlockBuilder block(info, 16 * 72);
    std::ranges::copy(first.payload(), block.payload().begin());
    return block.finish();
  };
  EXPECT_EQ(other([](BlockInfo&) {}), name);
  EXPECT_NE(other([](BlockInfo& i) { i.model.digest[0] ^= std::byte{1}; }), name);
  EXPECT_NE(other([](BlockInfo& i) { i.codec[0] ^= std::byte{1}; }), name);
  EXPECT_NE(other([](BlockInfo& i) { i.space[31] ^= std::byte{1}; }), name);
  EXPECT_NE(other([](BlockInfo& i) { i.store = 2; }), name);
  EXPECT_NE(other([](BlockInfo& i) { i.positions = {80, 96}; }), name);
  EXPECT_NE(other([](BlockInfo& i) { i.geometry += "x"; }), name);
  BlockBuilder payload = test::sample_block();
  payload.payload()[5] ^= std::byte{1};
  EXPECT_NE(payload.finish(), name);
}

TEST(Block, InAnotherOnesPlaceIsRefused) {
  BlockBuilder block = test::sample_block();
  ContentName name = block.finish();
  name.digest[7] ^= std::byte{1};
  EXPECT_ERROR(decode_block(name, block.bytes()), kCorrupt, "checksum");
}

TEST(Block, IsRefusedWithAnyBitTurned) {
  BlockBuilder block = test::sample_block();
  const ContentName name = block.finish();
  auto bytes = copy_of(block.bytes());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    ASSERT_FALSE(decode_block(name, bytes).has_value()) << "bit " << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  }
  EXPECT_OK(decode_block(name, bytes));
}

TEST(Block, IsRefusedAtEveryOtherLength) {
  BlockBuilder block = test::sample_block();
  const ContentName name = block.finish();
  auto bytes = copy_of(block.bytes());
  for (size_t length = 0; length < bytes.size(); ++length)
    ASSERT_FALSE(decode_block(name, std::span(bytes).first(length)).has_value()) << length;
  bytes.resize(bytes.size() + kIoAlignment);
  EXPECT_ERROR(decode_block(name, bytes), kCorrupt, "sizes");
}

// With the checksum put right, so that the other checks must find it.
TEST(Block, WithImpossibleNumbersIsRefusedWhateverItsChecksum) {
  BlockBuilder block = test::sample_block();
  block.finish();
  struct Field {
    size_t at;
    size_t bytes;
  };
  for (const Field field : {Field{16, 4}, {28, 4}, {32, 8}, {40, 8}, {48, 8}, {56, 8}, {20, 4}, {176, 8}}) {
    uint64_t good = 0;
    std::memcpy(&good, block.bytes().data() + field.at, field.bytes);
    for (const uint64_t value :
         {uint64_t{0}, uint64_t{1}, good + 1, good - 1, uint64_t{1} << 31, ~uint64_t{0}}) {
      if (value == good || (field.at == 32 && value == 0)) continue;
      auto bytes = copy_of(block.bytes());
      std::memcpy(bytes.data() + field.at, &value, field.bytes);
      if (std::ranges::equal(bytes, block.bytes())) continue;
      const ContentName name = seal(bytes, kChecksumAt);
      EXPECT_FALSE(decode_block(name, bytes).has_value()) << "at " << field.at << ": " << value;
    }
  }
}

TEST(Block, OfALaterFormatSaysSo) {
  BlockBuilder block = test::sample_block();
  block.finish();
  auto bytes = copy_of(block.bytes());
  bytes[8] = std::byte{9};
  bytes[12] = std::byte{9};
  EXPECT_ERROR(decode_block(seal(bytes, kChecksumAt), bytes), kUnsupported, "format 9");
  // A later writer may say that this reader understands it.
  bytes[12] = std::byte{1};
  EXPECT_OK(decode_block(seal(bytes, kChecksumAt), bytes));
  bytes[20] = std::byte{77};
  EXPECT_ERROR(decode_block(seal(bytes, kChecksumAt), bytes), kUnsupported, "kind 77");
}

TEST(ContentName, IsParsedFromItsDigitsOnly) {
  const ContentName name{test::digest_of("x")};
  EXPECT_EQ(parse_content_name(name.to_string()), name);
  std::string text = name.to_string();
  EXPECT_FALSE(parse_content_name(text + "0"));
  EXPECT_FALSE(parse_content_name(text.substr(1)));
  text[5] = 'A';
  EXPECT_FALSE(parse_content_name(text));
  text[5] = 'g';
  EXPECT_FALSE(parse_content_name(text));
}

}  // namespace
}  // namespace kvern::store
