#include "engine/tiers/kv_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/faulty_files.h"
#include "base/memory_files.h"
#include "engine/support/engines.h"
#include "support/result_matchers.h"
#include "support/temporary_directory.h"

namespace kvern::engine {
namespace {

class QuietLog final : public LogSink {
 public:
  void log(LogLevel /*level*/, std::string_view /*message*/) override {}
};

class KvDirectoryTest : public testing::Test {
 protected:
  Result<std::unique_ptr<KvDirectory>> open(Files& files, const KvDirectoryOptions& options) {
    return KvDirectory::open({.files = files, .clock = *clock_, .log = log_}, options);
  }

  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Files> memory_ = make_memory_files();
  QuietLog log_;
};

TEST_F(KvDirectoryTest, is_made_where_there_is_none_and_says_what_it_has) {
  ASSERT_OK_AND_ASSIGN(const auto directory, open(*memory_, {.path = "kv"}));
  EXPECT_EQ(directory->summary(), "0 entries, 0.0 MiB");
  EXPECT_TRUE(memory_->exists("kv/index.db"));
}

TEST_F(KvDirectoryTest, says_its_limit) {
  ASSERT_OK_AND_ASSIGN(const auto directory, open(*memory_, {.path = "kv", .max_bytes = 3 << 20}));
  EXPECT_EQ(directory->summary(), "0 entries, 0.0 MiB of at most 3.0 MiB");
}

TEST_F(KvDirectoryTest, is_the_only_tier_of_an_engine) {
  ASSERT_OK_AND_ASSIGN(const auto engine, test::open_bundled());
  ASSERT_OK_AND_ASSIGN(const auto directory, open(*memory_, {.path = "kv"}));
  TierOptions tiers;
  ASSERT_OK(directory->add_to(tiers, *engine));
  ASSERT_THAT(tiers.tiers, testing::SizeIs(1));
  EXPECT_EQ(tiers.tiers[0].tier, &directory->tier());
  EXPECT_TRUE(tiers.tiers[0].saves);
  EXPECT_TRUE(tiers.identity.cache.starts_with(engine->kv().identity())) << tiers.identity.cache;
}

TEST_F(KvDirectoryTest, may_be_read_only) {
  ASSERT_OK(open(*memory_, {.path = "kv"}));
  ASSERT_OK_AND_ASSIGN(const auto engine, test::open_bundled());
  ASSERT_OK_AND_ASSIGN(const auto directory, open(*memory_, {.path = "kv", .read_only = true}));
  TierOptions tiers;
  ASSERT_OK(directory->add_to(tiers, *engine));
  EXPECT_FALSE(tiers.tiers[0].saves);
  EXPECT_EQ(directory->summary(), "for reading only");
}

TEST_F(KvDirectoryTest, says_why_it_cannot_be) {
  const auto files = make_posix_files();
  const kvern::test::TemporaryDirectory folder;
  EXPECT_ERROR(open(*files, {.path = folder.path() + "/no/such/parent"}), kNotFound, "saved prefixes cannot");
  test::put_file(*files, folder.path() + "/file", "text");
  const auto no_folder = open(*files, {.path = folder.path() + "/file"});
  ASSERT_FALSE(no_folder);
  EXPECT_THAT(no_folder.error().message, testing::HasSubstr("saved prefixes cannot be kept there"));
}

TEST_F(KvDirectoryTest, says_what_can_be_done_where_nothing_can_be_written) {
  FaultyFiles files(*memory_);
  files.set_plan({.at = 0, .stays_down = true});
  EXPECT_ERROR(open(files, {.path = "kv"}), kIo, "opened for reading only");
  const auto read_only = open(files, {.path = "kv", .read_only = true});
  ASSERT_FALSE(read_only);
  EXPECT_THAT(read_only.error().message, testing::Not(testing::HasSubstr("for reading only")));
}

}  // namespace
}  // namespace kvern::engine
