// Manifests: what is written is read, and nothing else is.
#include "store/block/manifest_format.h"

#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include <gtest/gtest.h>

#include "store/block/checksum.h"
#include "store/samples.h"
#include "support/result_matchers.h"

namespace kvern::store {
namespace {

constexpr size_t kChecksumAt = 208;

std::vector<std::byte> file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void expect_sample(const Manifest& m) {
  const Manifest sample = test::sample_manifest();
  EXPECT_EQ(m.model, sample.model);
  EXPECT_EQ(m.tokenizer, sample.tokenizer);
  EXPECT_EQ(m.space, sample.space);
  EXPECT_EQ(m.root, sample.root);
  EXPECT_EQ(m.identity, sample.identity);
  EXPECT_EQ(m.created_seconds, sample.created_seconds);
  EXPECT_EQ(m.page, sample.page);
  EXPECT_EQ(m.minimum_reusable, sample.minimum_reusable);
  EXPECT_EQ(m.tokens, sample.tokens);
  EXPECT_EQ(m.shape(), sample.shape());
  EXPECT_EQ(m.attachments, sample.attachments);
  EXPECT_EQ(m.checkpoint, sample.checkpoint);
  ASSERT_EQ(m.stores.size(), sample.stores.size());
  for (size_t i = 0; i < m.stores.size(); ++i) {
    EXPECT_EQ(m.stores[i].kind, sample.stores[i].kind);
    EXPECT_EQ(m.stores[i].store.text, sample.stores[i].store.text);
    EXPECT_EQ(m.stores[i].store.encoded, sample.stores[i].store.encoded);
    EXPECT_EQ(m.stores[i].store.bytes_per_position, sample.stores[i].store.bytes_per_position);
  }
  ASSERT_EQ(m.pieces.size(), sample.pieces.size());
  for (size_t i = 0; i < m.pieces.size(); ++i) {
    EXPECT_EQ(m.pieces[i].store, sample.pieces[i].store);
    EXPECT_EQ(m.pieces[i].positions, sample.pieces[i].positions);
    EXPECT_EQ(m.pieces[i].block, sample.pieces[i].block);
    EXPECT_EQ(m.pieces[i].data, sample.pieces[i].data);
  }
}

TEST(Manifest, IsReadAsItWasWritten) {
  const EncodedManifest encoded = encode_manifest(test::sample_manifest());
  ASSERT_OK_AND_ASSIGN(const Manifest m, decode_manifest(encoded.name, encoded.bytes, BlockCheck::kName));
  expect_sample(m);
  EXPECT_EQ(encode_manifest(m).name, encoded.name);
}

TEST(Manifest, OfVersionOneOpensForEver) {
  const auto bytes = file_bytes(KVERN_TEST_DATA_DIR "/formats/kv-manifest-1.kvm");
  const ContentName name =
      *parse_content_name("0c42faf93068eb0eb27533c0c0337211d64f5dcc0dd69541167d8accf5262021");
  ASSERT_OK_AND_ASSIGN(const Manifest m, decode_manifest(name, bytes, BlockCheck::kName));
  expect_sample(m);
  EXPECT_EQ(encode_manifest(test::sample_manifest()).bytes, bytes);
}

// Makes the golden file of a new version: run with --gtest_also_run_disabled_tests.
TEST(Manifest, DISABLED_WritesItsGoldenFile) {
  const EncodedManifest encoded = encode_manifest(test::sample_manifest());
  std::ofstream out(KVERN_TEST_DATA_DIR "/formats/kv-manifest-1.kvm", std::ios::binary);
  out.write(reinterpret_cast<const char*>(encoded.bytes.data()), std::ssize(encoded.bytes));
  std::cout << encoded.name.to_string() << "\n";
}

TEST(Manifest, OfNothingButTokensOrNothingAtAllIsOne) {
  Manifest m{.page = 64};
  const EncodedManifest nothing = encode_manifest(m);
  EXPECT_OK(decode_manifest(nothing.name, nothing.bytes));
  m.tokens = {1, 2, 3};
  m.attachments = {{"only this", test::sample_bytes(3, 1)}};
  const EncodedManifest tokens = encode_manifest(m);
  EXPECT_OK(decode_manifest(tokens.name, tokens.bytes));
}

TEST(Manifest, IsRefusedWithAnyBitTurned) {
  const EncodedManifest encoded = encode_manifest(test::sample_manifest());
  auto bytes = encoded.bytes;
  for (size_t bit = 0; bit < bytes.size() * 8; bit += bit < 8192 ? 1 : 7) {
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    ASSERT_FALSE(decode_manifest(encoded.name, bytes).has_value()) << "bit " << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  }
}

TEST(Manifest, IsRefusedAtEveryOtherLength) {
  const EncodedManifest encoded = encode_manifest(test::sample_manifest());
  auto bytes = encoded.bytes;
  for (size_t length = 0; length < bytes.size(); ++length)
    ASSERT_FALSE(decode_manifest(encoded.name, std::span(bytes).first(length)).has_value()) << length;
  bytes.resize(bytes.size() + 1);
  EXPECT_ERROR(decode_manifest(encoded.name, bytes), kCorrupt, "sizes");
}

// With the checksum put right, so that the other checks must hold: never a crash, and what is accepted is
// what encode_manifest writes.
TEST(Manifest, ChangedAnywhereIsRefusedOrMeansSomethingElse) {
  const EncodedManifest encoded = encode_manifest(test::sample_manifest());
  size_t accepted = 0;
  for (size_t at = 0; at < encoded.bytes.size(); ++at) {
    if (at >= kChecksumAt && at < kChecksumAt + kChecksumBytes) continue;
    for (const int value : {0, 1, 255}) {
      auto bytes = encoded.bytes;
      if (bytes[at] == static_cast<std::byte>(value)) continue;
      bytes[at] = static_cast<std::byte>(value);
      const ContentName name = seal(bytes, kChecksumAt);
      const auto m = decode_manifest(name, bytes);
      if (!m) continue;
      ++accepted;
      auto again = encode_manifest(*m);
      // Which writer made it is not kept.
      if (at < 16) continue;
      ASSERT_EQ(again.bytes, bytes) << "at " << at << ": " << value;
    }
  }
  EXPECT_GT(accepted, 1000U);
}

TEST(Manifest, ThatContradictsItselfIsRefused) {
  const EncodedManifest good = encode_manifest(test::sample_manifest());
  struct Field {
    size_t at;
    size_t bytes;
    const char* what;
  };
  const Field fields[] = {{16, 8, "file"},   {24, 8, "data"},  {32, 8, "tokens"},   {40, 8, "minimum"},
                          {56, 4, "page"},   {60, 4, "text"},  {64, 4, "stores"},   {68, 4, "pieces"},
                          {72, 4, "attach"}, {76, 4, "check"}, {224, 8, "reserved"}};
  for (const Field& field : fields) {
    uint64_t value = 0;
    std::memcpy(&value, good.bytes.data() + field.at, field.bytes);
    for (const uint64_t other : {value + 1, value - 1, ~uint64_t{0}, uint64_t{1} << 31}) {
      auto bytes = good.bytes;
      std::memcpy(bytes.data() + field.at, &other, field.bytes);
      if (bytes == good.bytes) continue;
      const bool minimum = field.at == 40 && other <= 70;
      EXPECT_EQ(decode_manifest(seal(bytes, kChecksumAt), bytes).has_value(), minimum) << field.what << other;
    }
  }
}

}  // namespace
}  // namespace kvern::store
