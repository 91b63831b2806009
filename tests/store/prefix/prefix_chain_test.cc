// Identity of prefixes against fixed values: another one would make every saved prefix unfindable.
#include "store/prefix/prefix_chain.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "store/prefix/prefix_space.h"
#include "store/samples.h"

namespace kvern::store {
namespace {

std::vector<int32_t> numbers(int32_t count) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < count; ++i) tokens.push_back(i * 7919 % 100000);
  return tokens;
}

TEST(PrefixChain, HasTheValuesThatAnIndependentScriptComputed) {
  const PrefixSpace space = test::sample_space();
  EXPECT_EQ(to_hex(space.codec), "09e19bbfb3685832497231a2284b33c17833dcae5fd74b2ddec0940cf78e9834");
  EXPECT_EQ(to_hex(space.names), "e4f45148f523e47b2959a86925f85352194a3b3ca1b8d7e70bca123cd45c7753");
  EXPECT_EQ(to_hex(space.root), "21ed724c4066a419148f957673eb4447ff19beb63b977c33d61b19a3f3a451ac");
  const auto links = prefix_chain(space.root, numbers(150), {});
  ASSERT_EQ(links.size(), 3U);
  EXPECT_EQ(links[0], space.root);
  EXPECT_EQ(to_hex(links[1]), "04133d8c2ee39c36a796ed71e1c5cffa8e34ff4792c5790023dc3c7724a304f8");
  EXPECT_EQ(to_hex(links[2]), "295cf71d1d6b3914bb7e4967428fa4ba18480042e7aec3d0c29517d3841b8586");
}

TEST(PrefixChain, HasALinkForEveryWholePage) {
  const Sha256Digest root = test::digest_of("root");
  for (const int count : {0, 1, 15, 16, 17, 31, 32}) {
    EXPECT_EQ(prefix_chain(root, numbers(count), {.page = 16}).size(), static_cast<size_t>(count) / 16 + 1);
  }
  const auto all = prefix_chain(root, numbers(160), {.page = 16});
  const auto some = prefix_chain(root, numbers(40), {.page = 16});
  EXPECT_EQ(std::vector(all.begin(), all.begin() + 3), some);
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
}

TEST(PrefixSpace, IsAnotherOneWhereAnythingDiffers) {
  const PrefixIdentity same = test::sample_space().identity;
  std::set<Sha256Digest> roots = {make_prefix_space(same).root};
  const auto differs = [&](const auto& change) {
    PrefixIdentity other = same;
    change(other);
    EXPECT_TRUE(roots.insert(make_prefix_space(other).root).second);
  };
  differs([](PrefixIdentity& i) { i.model.digest[3] ^= std::byte{1}; });
  differs([](PrefixIdentity& i) { i.tokenizer[3] ^= std::byte{1}; });
  differs([](PrefixIdentity& i) { i.cache += " "; });
  differs([](PrefixIdentity& i) { i.adapter = ""; });
  differs([](PrefixIdentity& i) { i.tenant = ""; });
  // The same letters in other places.
  differs([](PrefixIdentity& i) { i.adapter = "adaptertenant", i.tenant = ""; });
  differs([](PrefixIdentity& i) { i.adapter = "", i.tenant = "adaptertenant"; });
  differs([](PrefixIdentity& i) { std::swap(i.adapter, i.tenant); });
}

}  // namespace
}  // namespace kvern::store
