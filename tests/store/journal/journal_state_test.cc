#include "store/journal/journal_state.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "store/journal/records.h"

namespace kvern::store {
namespace {

using test::accepted;
using test::ended;
using test::sampled;
using test::text_of;

std::string live(const std::vector<JournalRecord>& records, int64_t now = 0) {
  JournalState state;
  for (const JournalRecord& record : records) state.apply(record);
  return text_of(state.live(now));
}

const std::string kBody = R"({"input":"Hello"})";

TEST(JournalState, a_run_that_has_not_ended_has_its_request_and_tokens) {
  EXPECT_EQ(live({accepted(1), StartedRecord{1, 2}, sampled(1, 0, 0, {5, 6}), sampled(1, 0, 2, {7})}),
            "1 " + kBody + " <- 0 cached 2 [5 6 7 ]\n");
}

TEST(JournalState, tokens_behind_a_gap_are_lost) {
  EXPECT_EQ(live({accepted(1), sampled(1, 0, 0, {5}), sampled(1, 0, 2, {7})}), "1 " + kBody + " <- 0 [5 ]\n");
  EXPECT_EQ(live({accepted(1), sampled(1, 1, 0, {5, 6})}), "1 " + kBody + " <- 0 [] [5 6 ]\n");
  EXPECT_EQ(live({accepted(1), sampled(1, 0, 3, {5, 6})}), "1 " + kBody + " <- 0 []\n");
}

TEST(JournalState, tokens_without_their_request_are_nobodys) { EXPECT_EQ(live({sampled(1, 0, 0, {5})}), ""); }

TEST(JournalState, order_and_copies_make_no_difference) {
  std::vector<JournalRecord> records = {accepted(1),
                                        StartedRecord{1, 2},
                                        sampled(1, 0, 0, {5, 6}),
                                        sampled(1, 0, 2, {7}),
                                        sampled(1, 0, 0, {5, 6, 7}),
                                        accepted(2, 3),
                                        sampled(2, 0, 0, {8}),
                                        ended(2, "two", 3),
                                        ended(3, "three"),
                                        ForgottenRecord{3},
                                        accepted(4),
                                        ended(4, "")};
  const std::string expected = live(records);
  EXPECT_EQ(expected, "1 " + kBody + " <- 0 cached 2 [5 6 7 ]\n2 = two <- 3\n3 hidden = three <- 0\n");
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::ranges::shuffle(records, random);
    records.push_back(records[random() % records.size()]);
    EXPECT_EQ(live(records), expected);
  }
}

TEST(JournalState, what_has_expired_or_was_not_kept_is_gone) {
  EXPECT_EQ(live({ended(1, "one", 0, 100)}, 99), "1 = one <- 0\n");
  EXPECT_EQ(live({ended(1, "one", 0, 100)}, 100), "");
  EXPECT_EQ(live({ended(1, "")}), "");
  EXPECT_EQ(live({ended(1, "one"), ForgottenRecord{1}}), "");
}

TEST(JournalState, what_others_go_on_from_stays_hidden_as_long_as_they_do) {
  const std::vector<JournalRecord> chain = {ended(1, "one", 0, 50), ended(2, "two", 1), ForgottenRecord{2},
                                            accepted(3, 2)};
  EXPECT_EQ(live(chain, 60), "1 hidden = one <- 0\n2 hidden = two <- 1\n3 " + kBody + " <- 2\n");
  std::vector<JournalRecord> over = chain;
  over.push_back(ended(3, ""));
  EXPECT_EQ(live(over, 60), "");
}

TEST(JournalState, names_are_never_given_twice) {
  JournalState state;
  state.apply(ended(5, ""));
  state.apply(accepted(4, 9));
  EXPECT_EQ(state.last_run(), 9U);
}

}  // namespace
}  // namespace kvern::store
