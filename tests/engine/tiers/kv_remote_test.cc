#include "engine/tiers/kv_remote.h"

#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "engine/support/engines.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

struct KvRemoteTest : testing::Test {
  std::unique_ptr<Clock> clock = make_system_clock();
  std::unique_ptr<Files> files = make_memory_files();
  KvRemote::Parts parts() { return {.files = *files, .clock = *clock, .log = null_log()}; }
};

TEST_F(KvRemoteTest, is_the_next_tier_of_an_engine_whether_the_server_is_there_or_not) {
  ASSERT_OK_AND_ASSIGN(const auto remote,
                       KvRemote::open(parts(), {.url = "redis://me:secret@127.0.0.1:1/3"}));
  EXPECT_EQ(remote->name(), "redis://me@127.0.0.1:1/3");
  ASSERT_OK_AND_ASSIGN(const auto engine, test::open_bundled());
  TierOptions options;
  options.tiers.emplace_back();
  ASSERT_OK(remote->add_to(options, *engine));
  ASSERT_EQ(options.tiers.size(), 2U);
  EXPECT_TRUE(options.tiers[1].is_cache);
  EXPECT_TRUE(options.tiers[1].saves);
  EXPECT_TRUE(options.identity.cache.starts_with(engine->kv().identity())) << options.identity.cache;
}

TEST_F(KvRemoteTest, says_what_is_wrong_with_its_settings) {
  EXPECT_ERROR(KvRemote::open(parts(), {.url = "http://x"}), kInvalidArgument, "scheme");
  EXPECT_ERROR(KvRemote::open(parts(), {.url = "rediss://x", .authorities = "none.pem"}), kNotFound,
               "none.pem");
}

}  // namespace
}  // namespace kvern::engine
