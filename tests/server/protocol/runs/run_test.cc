#include "server/protocol/runs/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/http/sse.h"
#include "server/protocol/support/protocol_world.h"
#include "server/protocol/support/reader.h"

namespace kvern::server {
namespace {

using test::Reader;
// A fixture has a Run of its own.
using Generation = Run;

class RunTest : public testing::Test {
 protected:
  std::shared_ptr<Generation> make(bool background = false) {
    return std::make_shared<Generation>(
        HttpRequest{}, RunFacts{.route = "/r", .client = "ann", .run = 1, .background = background},
        std::make_unique<RunScope>(world_.context, nullptr, RunSeed{.run = 1, .salt = 1, .created = {}}),
        [this](const std::shared_ptr<Generation>&) { ++over_; });
  }
  static std::shared_ptr<Reader> reader() { return std::make_shared<Reader>(HttpRequest{}); }
  static void event(Generation& run, uint64_t number) {
    run.write_event(number, sse_event("e" + std::to_string(number)));
  }
  static std::string text(uint64_t from, uint64_t to) {
    std::string all;
    for (uint64_t i = from; i < to; ++i)
      all += "id: " + std::to_string(i) + "\ndata: e" + std::to_string(i) + "\n\n";
    return all;
  }

  test::ProtocolWorld world_;
  int over_ = 0;
};

TEST_F(RunTest, readers_get_all_events_behind_their_number_whenever_they_come) {
  const auto run = make();
  run->show();
  run->start_stream(sse_head());
  const auto first = reader();
  ASSERT_TRUE(run->follow(first, std::nullopt));
  for (uint64_t i = 0; i < 3; ++i) event(*run, i);
  EXPECT_EQ(first->body(), text(0, 3));
  const auto second = reader();
  ASSERT_TRUE(run->follow(second, 1));
  EXPECT_EQ(second->body(), text(2, 3));
  event(*run, 3);
  run->end();
  const auto late = reader();
  ASSERT_TRUE(run->follow(late, 2));
  EXPECT_EQ(first->body(), text(0, 4));
  EXPECT_EQ(second->body(), text(2, 4));
  EXPECT_EQ(late->body(), text(3, 4));
  for (const auto& each : {first, second, late}) EXPECT_TRUE(each->ended());
  EXPECT_EQ(run->events(), text(0, 4));
  EXPECT_EQ(over_, 1);
}

TEST_F(RunTest, nothing_is_shown_before_its_time) {
  const auto run = make();
  const auto early = reader();
  bool shown = false;
  run->when_shown([&] { shown = true; });
  ASSERT_TRUE(run->follow(early, std::nullopt));
  run->start_stream(sse_head());
  event(*run, 0);
  run->end();
  EXPECT_EQ(early->status(), 0);
  EXPECT_FALSE(shown);
  run->show();
  EXPECT_TRUE(shown);
  EXPECT_EQ(early->body(), text(0, 1));
  EXPECT_TRUE(early->ended());
}

TEST_F(RunTest, an_event_that_is_not_there_yet_cannot_be_gone_on_from) {
  const auto run = make();
  run->show();
  run->start_stream(sse_head());
  const auto status = run->follow(reader(), 0);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().message, "there is no event yet");
  event(*run, 0);
  EXPECT_EQ(run->follow(reader(), 1).error().message, "the last event so far is 0");
  EXPECT_TRUE(run->follow(reader(), 0).has_value());
}

TEST_F(RunTest, of_a_former_process_an_event_may_still_come) {
  const auto run = make();
  run->scope().resumed = true;
  run->show();
  run->start_stream(sse_head());
  const auto ahead = reader();
  ASSERT_TRUE(run->follow(ahead, 1));
  for (uint64_t i = 0; i < 3; ++i) event(*run, i);
  EXPECT_EQ(ahead->body(), text(2, 3));
  run->end();
  EXPECT_TRUE(ahead->ended());
  EXPECT_FALSE(run->follow(reader(), 3).has_value());
}

TEST_F(RunTest, what_is_no_event_goes_to_those_who_follow_and_is_not_kept) {
  const auto run = make();
  run->show();
  run->start_stream(sse_head());
  const auto there = reader();
  ASSERT_TRUE(run->follow(there, std::nullopt));
  run->write("data: progress\n\n");
  EXPECT_EQ(there->body(), "data: progress\n\n");
  const auto later = reader();
  ASSERT_TRUE(run->follow(later, std::nullopt));
  event(*run, 0);
  EXPECT_EQ(later->body(), text(0, 1));
}

TEST_F(RunTest, it_is_lost_when_its_last_reader_has_gone_unless_it_is_in_the_background) {
  const auto run = make();
  EXPECT_TRUE(run->lost_since()) << "no reader has come yet";
  const auto one = reader();
  const auto two = reader();
  ASSERT_TRUE(run->follow(one, std::nullopt));
  ASSERT_TRUE(run->follow(two, std::nullopt));
  EXPECT_FALSE(run->lost_since());
  one->leave();
  EXPECT_FALSE(run->lost_since());
  world_.clock.advance(std::chrono::seconds(5));
  two->leave();
  EXPECT_EQ(run->lost_since(), world_.clock.now());
  const auto background = make(true);
  const auto three = reader();
  ASSERT_TRUE(background->follow(three, std::nullopt));
  three->leave();
  EXPECT_FALSE(background->lost_since());
}

TEST_F(RunTest, cancelling_ends_the_generation_once) {
  const auto run = make();
  int ended = 0;
  run->on_close([&] { ++ended; });
  EXPECT_FALSE(run->was_cancelled());
  run->cancel();
  run->cancel();
  EXPECT_EQ(ended, 1);
  EXPECT_TRUE(run->was_cancelled());
  run->on_close([&] { ++ended; });
  EXPECT_EQ(ended, 2) << "it is told at once";
}

TEST_F(RunTest, a_suspended_one_is_deaf_and_its_readers_are_cut_off) {
  const auto run = make();
  run->show();
  run->start_stream(sse_head());
  auto cut = reader();
  const std::weak_ptr<Reader> watched = cut;
  ASSERT_TRUE(run->follow(cut, std::nullopt));
  event(*run, 0);
  run->suspend();
  event(*run, 1);
  run->end();
  EXPECT_EQ(cut->body(), text(0, 1));
  EXPECT_FALSE(cut->ended());
  EXPECT_EQ(over_, 0);
  cut.reset();
  EXPECT_TRUE(watched.expired()) << "it closes the connection";
}

TEST_F(RunTest, an_error_before_the_stream_is_the_answer_of_all_readers) {
  const auto run = make();
  run->show();
  const auto before = reader();
  ASSERT_TRUE(run->follow(before, std::nullopt));
  run->respond({.status = 400, .body = "no"});
  const auto after = reader();
  ASSERT_TRUE(run->follow(after, std::nullopt));
  for (const auto& each : {before, after}) {
    EXPECT_EQ(each->status(), 400);
    EXPECT_EQ(each->body(), "no");
  }
  EXPECT_EQ(over_, 1);
}

TEST_F(RunTest, an_abandoned_one_is_over) {
  const auto run = make();
  run->show();
  const auto waiting = reader();
  ASSERT_TRUE(run->follow(waiting, std::nullopt));
  run->abandon();
  EXPECT_EQ(waiting->status(), 500);
  EXPECT_EQ(over_, 1);
}

}  // namespace
}  // namespace kvern::server
