// The byte form of a row: what is written is read back; anything else is refused, whatever it claims.
#include "state/sequence/row_image.h"

#include <cstring>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/hash.h"
#include "support/result_matchers.h"

namespace kvern::state {
namespace {

RowImage sample() {
  RowImage image{.identity = "heads=1 k=16:f16 v=16:f16\n", .length = 20, .stores = {}};
  image.stores.push_back({.held = {.tail_begin = 3, .length = 20}, .records = {}});
  for (int i = 0; i < 100; ++i) image.stores[0].records.push_back(static_cast<std::byte>(i));
  image.stores.push_back({.held = {.tail_begin = 0, .length = 0}, .records = {}});
  return image;
}

bool equal(const RowImage& a, const RowImage& b) {
  if (a.identity != b.identity || a.length != b.length || a.stores.size() != b.stores.size()) return false;
  for (size_t i = 0; i < a.stores.size(); ++i) {
    if (a.stores[i].held != b.stores[i].held || a.stores[i].records != b.stores[i].records) return false;
  }
  return true;
}

// With the right checksum again, so that the reader looks at what was changed.
void sign(std::vector<std::byte>& bytes) {
  const uint64_t checksum = xxh3_64(std::span(bytes).first(bytes.size() - 8));
  for (size_t i = 0; i < 8; ++i) bytes[bytes.size() - 8 + i] = static_cast<std::byte>(checksum >> (8 * i));
}

void put(std::vector<std::byte>& bytes, size_t at, uint64_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) bytes[at + i] = static_cast<std::byte>(value >> (8 * i));
}

TEST(RowImage, KnowsTheBytesOfItsRecords) { EXPECT_EQ(sample().bytes(), 100U); }

TEST(RowImage, IsTheSameAfterItsByteForm) {
  ASSERT_OK_AND_ASSIGN(const RowImage read, row_image_from_bytes(to_bytes(sample())));
  EXPECT_TRUE(equal(read, sample()));
}

RC_GTEST_PROP(RowImageProperty, EveryImageIsTheSameAfterItsByteForm, ()) {
  RowImage image;
  image.identity = *rc::gen::arbitrary<std::string>();
  image.length = *rc::gen::inRange<int64_t>(0, (int64_t{1} << 32) + 1);
  const auto stores = *rc::gen::inRange<size_t>(0, 5);
  for (size_t i = 0; i < stores; ++i) {
    StoreImage store;
    store.held.tail_begin = *rc::gen::inRange<int64_t>(0, (int64_t{1} << 32) + 1);
    store.held.length = *rc::gen::inRange<int64_t>(0, (int64_t{1} << 32) + 1);
    for (const uint8_t byte : *rc::gen::arbitrary<std::vector<uint8_t>>()) {
      store.records.push_back(static_cast<std::byte>(byte));
    }
    image.stores.push_back(std::move(store));
  }
  const auto read = row_image_from_bytes(to_bytes(image));
  RC_ASSERT(read.has_value());
  RC_ASSERT(equal(*read, image));
}

TEST(RowImage, RefusesEveryBeginningOfItself) {
  const std::vector<std::byte> bytes = to_bytes(sample());
  for (size_t size = 0; size < bytes.size(); ++size) {
    SCOPED_TRACE(size);
    EXPECT_ERROR(row_image_from_bytes(std::span(bytes).first(size)), kCorrupt, "not a saved row");
    std::vector<std::byte> signed_part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    if (size < 16) continue;
    sign(signed_part);
    EXPECT_FALSE(row_image_from_bytes(signed_part).has_value());
  }
}

TEST(RowImage, RefusesEveryFlippedBit) {
  std::vector<std::byte> bytes = to_bytes(sample());
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const auto mask = static_cast<std::byte>(1U << bit % 8);
    bytes[bit / 8] ^= mask;
    EXPECT_FALSE(row_image_from_bytes(bytes).has_value()) << "bit " << bit;
    bytes[bit / 8] ^= mask;
  }
}

TEST(RowImage, SaysThatAnotherFormatCannotBeRead) {
  std::vector<std::byte> bytes = to_bytes(sample());
  put(bytes, 8, 2, 4);
  sign(bytes);
  EXPECT_ERROR(row_image_from_bytes(bytes), kUnsupported, "format 2");
}

TEST(RowImage, RefusesNumbersThatItsBytesCannotHave) {
  const size_t identity = sample().identity.size();
  const size_t length_at = 16 + identity;
  const size_t stores_at = length_at + 8;
  const size_t held_at = stores_at + 4;
  const auto with = [&](size_t at, uint64_t value, size_t count) {
    std::vector<std::byte> bytes = to_bytes(sample());
    put(bytes, at, value, count);
    sign(bytes);
    return row_image_from_bytes(bytes);
  };
  for (const uint64_t value : {uint64_t{1000}, uint64_t{0xffffffff}}) {
    EXPECT_ERROR(with(12, value, 4), kCorrupt, "header") << "bytes of the identity";
    EXPECT_ERROR(with(stores_at, value, 4), kCorrupt, "store") << "stores";
  }
  EXPECT_ERROR(with(stores_at, 1, 4), kCorrupt, "follows") << "fewer stores than there are";
  for (const uint64_t value : {(uint64_t{1} << 32) + 1, ~uint64_t{0}}) {
    EXPECT_ERROR(with(length_at, value, 8), kCorrupt, "header") << "length";
    EXPECT_ERROR(with(held_at, value, 8), kCorrupt, "store 0") << "first position";
    EXPECT_ERROR(with(held_at + 8, value, 8), kCorrupt, "store 0") << "length of a store";
    EXPECT_ERROR(with(held_at + 16, value, 8), kCorrupt, "store 0") << "bytes of records";
  }
  EXPECT_FALSE(with(held_at + 16, 99, 8).has_value()) << "one byte less";
  EXPECT_FALSE(with(held_at + 16, 101, 8).has_value()) << "one byte more";
}

TEST(RowImage, RefusesAnythingThatIsNotOne) {
  EXPECT_ERROR(row_image_from_bytes({}), kCorrupt, "begin");
  const std::string text = "GGUF and some more bytes that nobody wrote as a row";
  EXPECT_ERROR(row_image_from_bytes(std::as_bytes(std::span(text))), kCorrupt, "begin");
  std::vector<std::byte> longer = to_bytes(sample());
  longer.push_back(std::byte{0});
  EXPECT_ERROR(row_image_from_bytes(longer), kCorrupt, "checksum");
}

}  // namespace
}  // namespace kvern::state
