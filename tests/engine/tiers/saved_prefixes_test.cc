#include "engine/tiers/saved_prefixes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/support/engines.h"
#include "engine/tiers/prefix_spaces.h"
#include "store/entries.h"
#include "store/transfer/transfers.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

using store::test::tokens_of;

class SavedPrefixesTest : public testing::Test {
 protected:
  static const Engine& engine() {
    static const auto opened = test::open_bundled();
    return **opened;
  }
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(store_, place_.open());
    ASSERT_OK_AND_ASSIGN(saved_, SavedPrefixes::create(parts(), engine()));
  }
  SavedPrefixes::Parts parts() {
    return {.store = *store_, .files = *place_.files, .clock = place_.clock, .directory = "kv"};
  }
  static std::shared_ptr<const store::PrefixSpace> space(const std::string& name_space) {
    store::PrefixIdentity identity = *prefix_identity(engine());
    identity.tenant = name_space;
    return std::make_shared<const store::PrefixSpace>(store::make_prefix_space(identity));
  }
  void put(const std::string& name_space, const std::vector<int32_t>& tokens) {
    place_.clock.advance(std::chrono::seconds(1));
    ASSERT_OK(store_->put(store::test::make_entry(space(name_space), tokens)));
  }
  bool is_pinned(const std::vector<int32_t>& tokens) {
    const auto found = saved_->covering("mine", tokens);
    return found && *found && (*found)->pinned;
  }

  store::test::Place place_;
  std::unique_ptr<store::DiskStore> store_;
  std::unique_ptr<SavedPrefixes> saved_;
};

TEST_F(SavedPrefixesTest, a_namespace_sees_and_changes_its_own_only) {
  put("mine", tokens_of(40, 1));
  put("mine", tokens_of(50, 2));
  put("other", tokens_of(60, 3));
  ASSERT_OK_AND_ASSIGN(const auto mine, saved_->list("mine"));
  ASSERT_EQ(mine.size(), 2U);
  EXPECT_EQ(mine[0].tokens, 50);
  ASSERT_OK_AND_ASSIGN(const SavedTotals totals, saved_->totals("mine"));
  EXPECT_EQ(totals.prefixes, 2);
  EXPECT_EQ(totals.tokens, 90);
  EXPECT_EQ(totals.bytes, mine[0].bytes + mine[1].bytes);
  ASSERT_OK_AND_ASSIGN(const auto theirs, saved_->list("other"));
  const std::string foreign = theirs.at(0).name;
  EXPECT_ERROR(saved_->find("mine", foreign), kNotFound, "no such");
  EXPECT_ERROR(saved_->erase("mine", foreign), kNotFound, "no such");
  EXPECT_ERROR(saved_->set_pinned("mine", foreign, true), kNotFound, "no such");
  EXPECT_ERROR(saved_->set_seconds_to_live("mine", foreign, 1), kNotFound, "no such");
  EXPECT_ERROR(saved_->export_to("mine", foreign, {}), kNotFound, "no such");
  EXPECT_FALSE(saved_->covering("mine", tokens_of(60, 3))->has_value());

  ASSERT_OK(saved_->set_pinned("mine", mine[0].name.substr(0, 12), true));
  ASSERT_OK(saved_->set_seconds_to_live("mine", mine[0].name, 100));
  ASSERT_OK_AND_ASSIGN(const SavedPrefix changed, saved_->find("mine", mine[0].name));
  EXPECT_TRUE(changed.pinned);
  EXPECT_GT(changed.expires_seconds, changed.used_seconds);
  ASSERT_OK(saved_->erase("mine", mine[1].name));
  EXPECT_EQ(saved_->totals("mine")->prefixes, 1);
  EXPECT_EQ(saved_->totals("other")->prefixes, 1);
  EXPECT_EQ(saved_->totals("nobody's")->prefixes, 0);
}

TEST_F(SavedPrefixesTest, a_session_names_what_is_saved_and_keeps_it) {
  const auto tokens = tokens_of(100, 1);
  const std::vector<int32_t> beginning(tokens.begin(), tokens.begin() + 70);
  EXPECT_ERROR(saved_->save_session("mine", "story", beginning), kNotFound, "not saved");
  put("mine", tokens);
  ASSERT_OK_AND_ASSIGN(const SavedSession made, saved_->save_session("mine", "story", beginning));
  ASSERT_TRUE(made.prefix.has_value());
  EXPECT_EQ(made.prefix->tokens, 100);
  EXPECT_TRUE(is_pinned(tokens));
  EXPECT_EQ(saved_->session("mine", "story")->tokens, beginning);
  EXPECT_ERROR(saved_->session("other", "story"), kNotFound, "no session");
  EXPECT_TRUE(saved_->sessions("other")->empty());
  EXPECT_ERROR(saved_->forget_session("other", "story"), kNotFound, "no session");
  EXPECT_ERROR(saved_->save_session("mine", "a\nb", beginning), kInvalidArgument, "name");

  // A fork has the same prefix, which stays until the last of them goes.
  ASSERT_OK(saved_->save_session("mine", "fork", beginning));
  EXPECT_EQ(saved_->sessions("mine")->size(), 2U);
  ASSERT_OK(saved_->forget_session("mine", "story"));
  EXPECT_TRUE(is_pinned(tokens));
  ASSERT_OK(saved_->forget_session("mine", "fork"));
  EXPECT_FALSE(is_pinned(tokens));
  EXPECT_TRUE(saved_->sessions("mine")->empty());
}

TEST_F(SavedPrefixesTest, a_name_that_is_given_anew_lets_go_of_what_it_had) {
  put("mine", tokens_of(40, 1));
  put("mine", tokens_of(40, 2));
  ASSERT_OK(saved_->save_session("mine", "a", tokens_of(40, 1)));
  ASSERT_OK(saved_->save_session("mine", "a", tokens_of(40, 2)));
  EXPECT_FALSE(is_pinned(tokens_of(40, 1)));
  EXPECT_TRUE(is_pinned(tokens_of(40, 2)));
  // The same once more changes nothing.
  ASSERT_OK(saved_->save_session("mine", "a", tokens_of(40, 2)));
  EXPECT_TRUE(is_pinned(tokens_of(40, 2)));
}

TEST_F(SavedPrefixesTest, sessions_outlive_a_restart_and_the_index) {
  put("mine", tokens_of(40, 1));
  ASSERT_OK(saved_->save_session("mine", "a", tokens_of(40, 1)));
  saved_.reset();
  store_.reset();
  ASSERT_OK(place_.files->remove("kv/index.db"));
  SetUp();
  EXPECT_EQ(saved_->sessions("mine")->size(), 1U);
  EXPECT_TRUE(is_pinned(tokens_of(40, 1)));
}

TEST_F(SavedPrefixesTest, a_session_whose_prefix_is_gone_still_has_its_tokens) {
  put("mine", tokens_of(40, 1));
  ASSERT_OK_AND_ASSIGN(const SavedSession made, saved_->save_session("mine", "a", tokens_of(40, 1)));
  ASSERT_OK(saved_->erase("mine", made.prefix->name));
  ASSERT_OK_AND_ASSIGN(const SavedSession left, saved_->session("mine", "a"));
  EXPECT_FALSE(left.prefix.has_value());
  EXPECT_EQ(left.tokens, tokens_of(40, 1));
  EXPECT_OK(saved_->forget_session("mine", "a"));
}

TEST_F(SavedPrefixesTest, no_more_than_half_of_the_directory_can_be_pinned) {
  put("mine", tokens_of(2000, 1));
  put("mine", tokens_of(2000, 2));
  const store::DiskStats stats = *store_->stats();
  ASSERT_OK(store_->set_max_bytes(stats.totals.bytes + stats.other_bytes + 500'000));
  ASSERT_OK(saved_->save_session("mine", "a", tokens_of(2000, 1)));
  EXPECT_ERROR(saved_->save_session("mine", "b", tokens_of(2000, 2)), kExhausted, "half");
  EXPECT_EQ(saved_->sessions("mine")->size(), 1U);
}

TEST_F(SavedPrefixesTest, a_file_with_tokens_that_the_model_has_not_is_refused) {
  put("mine", {1, 2, 3, 49'999});
  ASSERT_OK_AND_ASSIGN(const auto mine, saved_->list("mine"));
  store::test::Bytes file;
  ASSERT_OK(saved_->export_to("mine", mine[0].name, store::test::sink_into(file)));
  EXPECT_ERROR(saved_->import_from("mine", store::test::source_of(file), false), kInvalidArgument,
               "token 3 of this prefix is 49999, and ids of tokens are 0 to " +
                   std::to_string(engine().model().config().vocab - 1));
}

TEST_F(SavedPrefixesTest, a_file_is_taken_by_whom_it_belongs_to) {
  const std::vector<int32_t> tokens(40, 5);
  put("mine", tokens);
  ASSERT_OK_AND_ASSIGN(const auto mine, saved_->list("mine"));
  std::vector<std::byte> file;
  ASSERT_OK(saved_->export_to("mine", mine[0].name, [&](std::span<const std::byte> bytes) -> Status {
    file.insert(file.end(), bytes.begin(), bytes.end());
    return Ok{};
  }));
  const auto source = [&] {
    return [&file, at = size_t{0}](std::span<std::byte> out) mutable -> Status {
      if (out.size() > file.size() - at) return fail(ErrorCode::kCorrupt, "cut off");
      std::copy_n(file.begin() + static_cast<ptrdiff_t>(at), out.size(), out.begin());
      at += out.size();
      return Ok{};
    };
  };
  EXPECT_ERROR(saved_->import_from("other", source(), false), kInvalidArgument, "client");
  ASSERT_OK(saved_->erase("mine", mine[0].name));
  ASSERT_OK_AND_ASSIGN(const IncomingReport report, saved_->import_from("mine", source(), true));
  EXPECT_EQ(report.saved, 1);
  EXPECT_TRUE(is_pinned(tokens));
}

}  // namespace
}  // namespace kvern::engine
