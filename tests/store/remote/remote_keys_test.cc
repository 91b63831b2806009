// Keys, and what stands at the links of a chain.
#include "store/remote/remote_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/samples.h"

namespace kvern::store {
namespace {

LinkedEntry entry(const std::string& name, int64_t minimum, std::vector<int32_t> next) {
  return {.manifest = {test::digest_of(name)}, .length = 100, .minimum = minimum, .next = std::move(next)};
}

TEST(RemoteKeys, SayWhatTheyAreAndHowLongAPageIs) {
  const RemoteKeys keys(64);
  const ContentName name{test::digest_of("x")};
  EXPECT_EQ(keys.block(name), "kvern:1:64:b:" + name.to_string());
  EXPECT_EQ(keys.manifest(name), "kvern:1:64:m:" + name.to_string());
  EXPECT_EQ(keys.link(name.digest), "kvern:1:64:l:" + name.to_string());
  EXPECT_NE(RemoteKeys(32).block(name), keys.block(name));
}

TEST(RemoteKeys, LinksAreReadAsTheyWereWritten) {
  const std::vector<LinkedEntry> entries = {entry("a", 0, {1, 2, 3}), entry("b", 90, {}),
                                            entry("c", 100, {-5})};
  const auto bytes = encode_link(entries);
  EXPECT_EQ(decode_link(bytes), entries);
  EXPECT_TRUE(decode_link(encode_link({})).empty());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_TRUE(decode_link(std::span(bytes).first(size)).empty()) << size;
  auto longer = bytes;
  longer.push_back({});
  EXPECT_TRUE(decode_link(longer).empty());
  auto other = bytes;
  other[0] = std::byte{2};
  EXPECT_TRUE(decode_link(other).empty());
  other = bytes;
  other[4] = std::byte{200};
  EXPECT_TRUE(decode_link(other).empty());
}

TEST(RemoteKeys, ALinkKeepsTheNewestThatAreOfUse) {
  std::vector<LinkedEntry> entries;
  add_linked(entries, entry("a", 50, {1}));
  add_linked(entries, entry("b", 0, {1}));  // gives all that a gives
  EXPECT_THAT(entries, testing::ElementsAre(entry("b", 0, {1})));
  add_linked(entries, entry("c", 50, {1}));
  add_linked(entries, entry("b", 0, {1}));
  EXPECT_THAT(entries, testing::ElementsAre(entry("b", 0, {1})));
  for (int32_t i = 0; i < 20; ++i) add_linked(entries, entry(std::to_string(i), 0, {i + 10}));
  EXPECT_EQ(entries.size(), kMostLinked);
  EXPECT_EQ(entries.front(), entry("19", 0, {29}));
}

}  // namespace
}  // namespace kvern::store
