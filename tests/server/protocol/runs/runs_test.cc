// Streams that are broken and gone on with, in one process and in the next one.
#include "server/protocol/runs/runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/protocol/runs/run_process.h"

namespace kvern::server {
namespace {

using test::at;
using test::id_in;
using test::Reader;
using test::RunProcess;
using test::split_events;
using testing::HasSubstr;

constexpr const char* kResponses = "/v1/responses";
constexpr const char* kChat = "/v1/chat/completions";
const std::string kText = "Once upon a time there was a little engine that could.";
const std::string kStream = R"({"input": "Hi", "stream": true, "store": false})";
const std::string kChatStream =
    R"({"messages": [{"role": "user", "content": "Hi"}], "stream": true, "stream_options": {"include_usage": true}})";

json::value parsed(const std::shared_ptr<Reader>& reader) {
  return parse_json(reader->body(), "answer").value_or(nullptr);
}

class RunsTest : public testing::Test {
 protected:
  /// The one before was killed.
  RunProcess& start(uint64_t salt = 1, std::string model = "model") {
    process_.reset();
    process_ = std::make_unique<RunProcess>(files_.get(), salt, std::move(model));
    return *process_;
  }
  std::string get(const std::string& path) { return process_->ask("GET", path)->body(); }

  const std::unique_ptr<Files> files_ = make_memory_files();
  std::unique_ptr<RunProcess> process_;
};

TEST_F(RunsTest, a_stream_is_gone_on_with_behind_any_event) {
  for (const bool chat : {false, true}) {
    RunProcess& process = start();
    process.say_all(kText);
    const std::string route = chat ? kChat : kResponses;
    const std::string whole = process.ask("POST", route, chat ? kChatStream : kStream)->body();
    const auto events = split_events(whole);
    ASSERT_GT(events.size(), 10U);
    const std::string path = route + "/" + id_in(whole, chat ? "chatcmpl-" : "resp_") + "?stream=true";
    EXPECT_EQ(get(path), whole);
    for (size_t i = 0; i < events.size(); ++i) {
      std::string expected;
      for (size_t j = i + 1; j < events.size(); ++j) expected += events[j] + "\n\n";
      EXPECT_EQ(get(path + "&starting_after=" + std::to_string(i)), expected);
    }
    EXPECT_THAT(get(path + "&starting_after=" + std::to_string(events.size())),
                HasSubstr("the last event so far is " + std::to_string(events.size() - 1)));
    EXPECT_THAT(get(path + "&starting_after=-1"), HasSubstr("expected the number of an event"));
    EXPECT_THAT(get(path + "&starting_after=x"), HasSubstr("starting_after: expected"));
  }
}

TEST_F(RunsTest, numbers_of_events_are_their_ids) {
  RunProcess& process = start();
  process.say_all(kText);
  const auto events = split_events(process.ask("POST", kResponses, kStream)->body());
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_THAT(events[i], testing::StartsWith("id: " + std::to_string(i) + "\nevent: response."));
    EXPECT_THAT(events[i], HasSubstr("\"sequence_number\":" + std::to_string(i) + ","));
  }
}

TEST_F(RunsTest, a_killed_process_is_gone_on_with_by_the_next_one_and_nothing_shows_it) {
  for (const bool chat : {false, true}) {
    const std::string route = chat ? kChat : kResponses;
    const std::string body = chat ? kChatStream : kStream;
    for (const size_t tokens : {size_t{0}, size_t{1}, size_t{5}, size_t{9}}) {
      RunProcess& first = start(3);
      first.say_some(kText, tokens);
      const auto reader = first.ask("POST", route, body, "ann");
      const std::string before = reader->body();
      const std::string id = id_in(before, chat ? "chatcmpl-" : "resp_");
      ASSERT_FALSE(id.empty());
      EXPECT_FALSE(reader->ended());

      RunProcess& second = start(4);
      second.world.clock.advance(std::chrono::hours(5));
      second.say_all(kText);
      second.restore();
      const engine::ServiceRequest resumed = second.world.service.requests().at(0);
      ASSERT_TRUE(resumed.replay);
      ASSERT_EQ(resumed.replay->choices.size(), tokens > 0 ? 1U : 0U);
      if (tokens > 0) {
        EXPECT_EQ(resumed.replay->choices[0].size(), tokens);
      }
      EXPECT_EQ(resumed.replay->cached_tokens, 1);
      EXPECT_EQ(resumed.client, "ann\n");
      const auto events = split_events(before);
      const std::string path = route + "/" + id + "?stream=true";
      const auto again = second.ask("GET", path, "", "ann");
      EXPECT_THAT(again->body(), testing::StartsWith(before));
      EXPECT_TRUE(again->ended());
      const auto rest =
          second.ask("GET", path + "&starting_after=" + std::to_string(events.size() - 1), "", "ann");
      EXPECT_EQ(before + rest->body(), again->body());
      EXPECT_EQ(second.ask("GET", path, "", "bob")->status(), 404);
      EXPECT_EQ(second.runs->stats().resumed, 1U);

      // It is over now, for a third process too, until its time is.
      RunProcess& third = start(5);
      third.world.clock.advance(std::chrono::hours(5));
      third.restore();
      EXPECT_TRUE(third.world.service.requests().empty());
      EXPECT_EQ(third.ask("GET", path, "", "ann")->body(), again->body());
      third.world.clock.advance(test::kReconnectFor);
      EXPECT_EQ(third.ask("GET", path, "", "ann")->status(), 404);
      third.runs->sweep();
      EXPECT_EQ(third.runs->stats().over, 0);
    }
  }
}

TEST_F(RunsTest, a_run_of_another_model_is_not_gone_on_with_and_says_so) {
  RunProcess& first = start();
  first.say_some(kText, 3);
  const std::string id = id_in(first.ask("POST", kResponses, kStream)->body(), "resp_");
  RunProcess& second = start(2, "other model");
  second.restore();
  EXPECT_TRUE(second.world.service.requests().empty());
  const auto answer = second.ask("GET", std::string(kResponses) + "/" + id + "?stream=true");
  EXPECT_EQ(answer->status(), 400);
  EXPECT_THAT(answer->body(), HasSubstr("begun with another model"));
}

TEST_F(RunsTest, a_stream_whose_client_has_gone_ends_when_it_does_not_come_back) {
  RunProcess& process = start();
  process.say_some(kText, 3);
  const auto reader = process.ask("POST", kChat, kChatStream);
  reader->leave();
  process.world.clock.advance(test::kReconnectFor - std::chrono::seconds(1));
  process.runs->sweep();
  EXPECT_TRUE(process.world.service.cancelled().empty());
  // Who comes back in time keeps it.
  const std::string path = std::string(kChat) + "/" + id_in(reader->body(), "chatcmpl-") + "?stream=true";
  const auto back = process.ask("GET", path);
  process.world.clock.advance(test::kReconnectFor);
  process.runs->sweep();
  EXPECT_TRUE(process.world.service.cancelled().empty());
  back->leave();
  process.world.clock.advance(test::kReconnectFor);
  process.runs->sweep();
  EXPECT_EQ(process.world.service.cancelled().size(), 1U);
  process.runs->sweep();
  EXPECT_EQ(process.world.service.cancelled().size(), 1U);
}

TEST_F(RunsTest, a_background_response_is_polled_followed_and_kept) {
  RunProcess& process = start();
  process.say_some(kText, 3);
  const auto created = process.ask("POST", kResponses, R"({"input": "Hi", "background": true})");
  ASSERT_EQ(created->status(), 200) << created->body();
  EXPECT_EQ(at(parsed(created), "status"), json::value("queued"));
  EXPECT_EQ(at(parsed(created), "background"), json::value(true));
  const std::string path = std::string(kResponses) + "/" + std::string(at(parsed(created), "id").as_string());
  EXPECT_EQ(at(parsed(process.ask("GET", path)), "status"), json::value("in_progress"));
  const auto follower = process.ask("GET", path + "?stream=true&starting_after=1");
  EXPECT_THAT(follower->body(), testing::StartsWith("id: 2\n"));
  process.world.clock.advance(std::chrono::hours(1));
  process.runs->sweep();
  EXPECT_TRUE(process.world.service.cancelled().empty());

  RunProcess& second = start(2);
  second.say_all(kText);
  second.restore();
  const json::value done = parsed(second.ask("GET", path));
  EXPECT_EQ(at(done, "status"), json::value("completed"));
  EXPECT_EQ(at(done, "output[0].content[0].text"), json::value(kText));
  EXPECT_EQ(second.ask("POST", path + "/cancel")->body(), to_json(done)) << "it has ended";

  RunProcess& third = start(3);
  third.restore();
  EXPECT_EQ(parsed(third.ask("GET", path)), done);
  const auto events = split_events(third.ask("GET", path + "?stream=true")->body());
  EXPECT_THAT(events.back(), HasSubstr("event: response.completed"));
}

TEST_F(RunsTest, the_background_needs_a_store) {
  RunProcess& process = start();
  const auto refused =
      process.ask("POST", kResponses, R"({"input": "Hi", "background": true, "store": false})");
  EXPECT_EQ(refused->status(), 400);
  EXPECT_THAT(refused->body(), HasSubstr("background: only allowed when store is true"));
  EXPECT_EQ(process.runs->stats().open, 0);
}

TEST_F(RunsTest, cancelling_answers_with_the_response_when_it_has_ended) {
  RunProcess& process = start();
  process.say_some(kText, 3);
  const auto created = process.ask("POST", kResponses, R"({"input": "Hi", "background": true})");
  const std::string path = std::string(kResponses) + "/" + std::string(at(parsed(created), "id").as_string());
  EXPECT_EQ(process.ask("POST", path + "/cancel", "", "bob")->status(), 404);
  const auto cancelled = process.ask("POST", path + "/cancel");
  ASSERT_EQ(process.world.service.cancelled().size(), 1U);
  EXPECT_EQ(cancelled->status(), 0) << "the loop has not said it yet";
  const auto sink = process.world.service.last_sink();
  sink->on_choice_end({.choice = 0, .reason = engine::FinishReason::kCancelled});
  sink->on_end({});
  EXPECT_EQ(at(parsed(cancelled), "status"), json::value("cancelled"));
  EXPECT_EQ(at(parsed(process.ask("GET", path)), "status"), json::value("cancelled"));
  RunProcess& second = start(2);
  second.restore();
  EXPECT_TRUE(second.world.service.requests().empty());
  EXPECT_EQ(at(parsed(second.ask("GET", path)), "status"), json::value("cancelled"));
}

TEST_F(RunsTest, deleting_a_running_one_cancels_it_and_leaves_nothing) {
  for (const bool chat : {false, true}) {
    RunProcess& process = start();
    process.say_some(kText, 3);
    const std::string route = chat ? kChat : kResponses;
    const auto reader = process.ask("POST", route, chat ? kChatStream : R"({"input": "Hi", "stream": true})");
    const std::string path = route + "/" + id_in(reader->body(), chat ? "chatcmpl-" : "resp_");
    EXPECT_EQ(process.ask("DELETE", path, "", "bob")->status(), 404);
    EXPECT_EQ(at(parsed(process.ask("DELETE", path)), "deleted"), json::value(true));
    EXPECT_EQ(process.world.service.cancelled().size(), 1U);
    const auto sink = process.world.service.last_sink();
    sink->on_choice_end({.choice = 0, .reason = engine::FinishReason::kCancelled});
    sink->on_end({});
    EXPECT_TRUE(reader->ended());
    EXPECT_EQ(process.ask("GET", path + "?stream=true")->status(), 404);
    RunProcess& second = start(2);
    second.restore();
    EXPECT_EQ(second.ask("GET", path + "?stream=true")->status(), 404);
    EXPECT_TRUE(second.world.service.requests().empty());
  }
}

TEST_F(RunsTest, stored_responses_and_their_conversations_outlive_the_process) {
  RunProcess& first = start(1);
  first.say_all("I am Ann.");
  const json::value one = parsed(first.ask("POST", kResponses, R"({"input": "Who?"})"));
  const std::string one_id(at(one, "id").as_string());
  const json::value two = parsed(
      first.ask("POST", kResponses, R"({"input": "And?", "previous_response_id": ")" + one_id + "\"}"));
  const std::string two_id(at(two, "id").as_string());
  const json::value hidden = parsed(first.ask("POST", kResponses, R"({"input": "x", "store": false})"));
  EXPECT_EQ(at(parsed(first.ask("DELETE", std::string(kResponses) + "/" + one_id)), "deleted"),
            json::value(true));

  RunProcess& second = start(2);
  second.restore();
  second.say_all("Well.");
  EXPECT_EQ(second.ask("GET", std::string(kResponses) + "/" + one_id)->status(), 404) << "it was deleted";
  EXPECT_EQ(parsed(second.ask("GET", std::string(kResponses) + "/" + two_id)), two);
  EXPECT_EQ(
      second.ask("GET", std::string(kResponses) + "/" + std::string(at(hidden, "id").as_string()))->status(),
      404);
  const auto items =
      parsed(second.ask("GET", std::string(kResponses) + "/" + two_id + "/input_items?order=asc"));
  ASSERT_EQ(at(items, "data").as_array().size(), 3U);
  EXPECT_EQ(at(items, "data[0].content[0].text"), json::value("Who?"));
  EXPECT_EQ(at(items, "data[1].content[0].text"), json::value("I am Ann."));
  // It is gone on from, by a run that is killed, too.
  second.say_some("Well, well.", 2);
  second.ask("POST", kResponses,
             R"({"input": "So?", "stream": true, "previous_response_id": ")" + two_id + "\"}");
  const auto prompt = second.world.service.requests().back().generate.prompt;
  RunProcess& third = start(3);
  third.say_all("Well, well.");
  third.restore();
  ASSERT_EQ(third.world.service.requests().size(), 1U);
  EXPECT_EQ(third.world.service.requests()[0].generate.prompt, prompt);
}

TEST_F(RunsTest, at_the_end_of_a_process_runs_are_left_to_the_next_one) {
  RunProcess& first = start();
  first.say_some(kText, 4);
  const auto reader = first.ask("POST", kResponses, kStream);
  const std::string before = reader->body();
  first.runs->suspend();
  first.world.service.last_sink()->on_error({.code = ErrorCode::kCancelled, .message = "shutting down"});
  EXPECT_EQ(reader->body(), before);
  EXPECT_FALSE(reader->ended());
  RunProcess& second = start(2);
  second.say_all(kText);
  second.restore();
  const std::string path = std::string(kResponses) + "/" + id_in(before, "resp_") + "?stream=true";
  EXPECT_THAT(second.ask("GET", path)->body(), testing::StartsWith(before));
}

TEST_F(RunsTest, a_request_that_is_refused_leaves_nothing) {
  RunProcess& first = start();
  first.world.service.refuse(
      Error{.code = ErrorCode::kExhausted, .message = "full", .where = "queue", .retryable = true});
  EXPECT_EQ(first.ask("POST", kChat, kChatStream)->status(), 429);
  EXPECT_EQ(first.ask("POST", kChat, R"({"stream": true})")->status(), 400);
  EXPECT_EQ(first.runs->stats().open, 0);
  RunProcess& second = start(2);
  second.restore();
  EXPECT_EQ(second.runs->stats().resumed, 0U);
}

TEST(RunsWithoutJournal, streams_can_be_come_back_to_in_the_process) {
  RunProcess process(nullptr);
  process.say_all(kText);
  const std::string whole = process.ask("POST", kChat, kChatStream)->body();
  const std::string path = std::string(kChat) + "/" + id_in(whole, "chatcmpl-");
  EXPECT_EQ(process.ask("GET", path + "?stream=true")->body(), whole);
  EXPECT_EQ(process.ask("GET", path)->status(), 400) << "completions themselves are not kept";
}

}  // namespace
}  // namespace kvern::server
