#include "server/protocol/id_source.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace kvern::server {
namespace {

TEST(IdSource, no_id_comes_twice) {
  IdSource ids(7);
  std::set<std::string> seen;
  for (int i = 0; i < 10'000; ++i) {
    const std::string id = ids.next("call_");
    EXPECT_EQ(id.size(), 5U + 24U);
    EXPECT_EQ(id.substr(5).find_first_not_of("0123456789abcdef"), std::string::npos) << id;
    EXPECT_TRUE(seen.insert(id).second) << id;
  }
}

TEST(IdSource, the_salt_decides) {
  IdSource a(1), b(1), c(2);
  const std::string first = a.next("");
  EXPECT_EQ(first, b.next(""));
  EXPECT_NE(first, c.next(""));
}

TEST(IdSource, seeds_are_exact_in_every_language) {
  IdSource ids(3);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t seed = ids.next_seed();
    EXPECT_LT(seed, uint64_t{1} << 53);
    seen.insert(seed);
  }
  EXPECT_EQ(seen.size(), 1000U);
}

}  // namespace
}  // namespace kvern::server
