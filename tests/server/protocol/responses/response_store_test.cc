#include "server/protocol/responses/response_store.h"

#include <gtest/gtest.h>

namespace kvern::server::responses {
namespace {

class ResponseStoreTest : public testing::Test {
 protected:
  void put(ResponseStore& store, const std::string& id, size_t bytes = 10, Turns turns = {}) {
    turns.push_back(store.make_turn({json::object{{"id", id}}}, {}));
    store.put("ann", id, {.body = std::string(bytes, 'x'), .turns = std::move(turns)});
  }
  ManualClock clock_{std::chrono::sys_days{std::chrono::year{2024} / 7 / 26}};
};

TEST_F(ResponseStoreTest, gives_back_what_was_put_in_to_its_client_alone) {
  ResponseStore store(clock_, {});
  put(store, "resp_1");
  const auto found = store.find("ann", "resp_1");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->body, "xxxxxxxxxx");
  EXPECT_EQ(found->turns.front()->input, R"([{"id":"resp_1"}])");
  EXPECT_FALSE(store.find("bob", "resp_1"));
  EXPECT_FALSE(store.find("", "resp_1"));
  EXPECT_FALSE(store.find("ann", "resp_2"));
  EXPECT_FALSE(store.erase("bob", "resp_1"));
  EXPECT_TRUE(store.erase("ann", "resp_1"));
  EXPECT_FALSE(store.erase("ann", "resp_1"));
  EXPECT_FALSE(store.find("ann", "resp_1"));
}

TEST_F(ResponseStoreTest, counts_its_bytes_exactly) {
  ResponseStore store(clock_, {});
  EXPECT_EQ(store.bytes(), 0U);
  put(store, "resp_1", 1000);
  EXPECT_GT(store.bytes(), 1000U);
  EXPECT_TRUE(store.erase("ann", "resp_1"));
  EXPECT_EQ(store.bytes(), 0U);
}

TEST_F(ResponseStoreTest, forgets_the_oldest_when_there_are_too_many) {
  ResponseStore store(clock_, {.max_responses = 3});
  for (int i = 0; i < 10; ++i) put(store, "resp_" + std::to_string(i));
  EXPECT_EQ(store.size(), 3U);
  EXPECT_FALSE(store.find("ann", "resp_6"));
  for (int i = 7; i < 10; ++i) EXPECT_TRUE(store.find("ann", "resp_" + std::to_string(i))) << i;
}

TEST_F(ResponseStoreTest, stays_below_its_bytes) {
  ResponseStore store(clock_, {.max_bytes = 10'000});
  for (int i = 0; i < 50; ++i) {
    put(store, "resp_" + std::to_string(i), 1000);
    EXPECT_LE(store.bytes(), 10'000U);
  }
  EXPECT_GT(store.size(), 5U);
  put(store, "large", 20'000);
  EXPECT_FALSE(store.find("ann", "large"));
  EXPECT_LE(store.bytes(), 10'000U);
}

TEST_F(ResponseStoreTest, forgets_what_is_old) {
  ResponseStore store(clock_, {.kept_for = std::chrono::seconds(60)});
  put(store, "resp_1");
  clock_.advance(std::chrono::seconds(40));
  put(store, "resp_2");
  EXPECT_TRUE(store.find("ann", "resp_1"));
  clock_.advance(std::chrono::seconds(30));
  EXPECT_FALSE(store.find("ann", "resp_1"));
  EXPECT_TRUE(store.find("ann", "resp_2"));
  clock_.advance(std::chrono::hours(1));
  EXPECT_FALSE(store.find("ann", "resp_2"));
  EXPECT_EQ(store.bytes(), 0U);
}

TEST_F(ResponseStoreTest, a_conversation_lives_as_long_as_a_response_that_goes_on_from_it) {
  ResponseStore store(clock_, {});
  put(store, "resp_1");
  put(store, "resp_2", 10, store.find("ann", "resp_1")->turns);
  EXPECT_TRUE(store.erase("ann", "resp_1"));
  const auto second = store.find("ann", "resp_2");
  ASSERT_EQ(second->turns.size(), 2U);
  EXPECT_EQ(second->turns.front()->input, R"([{"id":"resp_1"}])");
}

}  // namespace
}  // namespace kvern::server::responses
