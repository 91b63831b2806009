// Batches through routes that need no model.
#include "server/batch/batch_run.h"

#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "support/result_matchers.h"

namespace kvern::server {
namespace {

class BatchRunTest : public testing::Test {
 protected:
  void SetUp() override {
    routes_.add("POST", "/echo", [](const std::shared_ptr<Exchange>& exchange) {
      exchange->respond({.body = exchange->request().body});
    });
    routes_.add("POST", "/kept",
                [this](std::shared_ptr<Exchange> exchange) { kept_.push_back(std::move(exchange)); });
    routes_.add("POST", "/wrong", [](const std::shared_ptr<Exchange>& exchange) {
      exchange->respond({.status = 400, .body = R"({"error": {"message": "no"}})"});
    });
    routes_.add("POST", "/silent", [](const std::shared_ptr<Exchange>&) {});
    routes_.add("GET", "/get",
                [](const std::shared_ptr<Exchange>& exchange) { exchange->respond({.body = "{}"}); });
    routes_.add("POST", "/open",
                [](const std::shared_ptr<Exchange>& exchange) { exchange->respond({.body = "{}"}); },
                {.access = RouteAccess::kOpen});
    events_.on_bad_line = [this](int64_t line, const std::string& message) {
      bad_.push_back(fmt::format("{}: {}", line, message));
    };
  }

  static std::string line(std::string_view id, std::string_view url, std::string_view body = R"({"a":1})") {
    return fmt::format(R"({{"custom_id": "{}", "method": "POST", "url": "{}", "body": {}}})", id, url, body) +
           "\n";
  }
  void put(const std::string& path, std::string_view text) {
    auto file = files_->open(path, OpenMode::kCreate);
    ASSERT_OK(file);
    ASSERT_OK((*file)->write_at(0, std::as_bytes(std::span(text))));
  }
  Result<BatchCounts> run(std::string_view requests, int64_t max_open = 4) {
    put("/in", requests);
    KVERN_TRY(LineReader reader, LineReader::open(*files_, "/in", 1 << 20));
    KVERN_TRY(ResultFile results, ResultFile::open(*files_, "/out"));
    return BatchRun(routes_, results, clock_, max_open).run(reader, events_);
  }
  // The results by their ids, in the order of the file.
  std::vector<std::pair<std::string, json::object>> results() {
    std::vector<std::pair<std::string, json::object>> all;
    auto reader = LineReader::open(*files_, "/out", 1 << 20);
    for (auto next = reader->next(); *next; next = reader->next()) {
      json::object object = parse_json((*next)->text, "")->as_object();
      const std::string id(object["custom_id"].as_string());
      all.emplace_back(id, std::move(object));
    }
    return all;
  }

  std::unique_ptr<Files> files_ = make_memory_files();
  ManualClock clock_{std::chrono::system_clock::time_point{}};
  Router routes_;
  BatchEvents events_;
  std::vector<std::string> bad_;
  std::vector<std::shared_ptr<Exchange>> kept_;
};

TEST_F(BatchRunTest, AnswersEachLine) {
  std::string requests;
  for (int i = 0; i < 20; ++i)
    requests += line(fmt::format("r{}", i), "/echo", fmt::format(R"({{"i":{}}})", i));
  ASSERT_OK_AND_ASSIGN(const BatchCounts counts, run(requests));
  EXPECT_EQ(counts.done, 20);
  EXPECT_EQ(counts.failed, 0);
  EXPECT_EQ(counts.open, 0);
  const auto all = results();
  ASSERT_EQ(all.size(), 20U);
  for (const auto& [id, result] : all) {
    const json::object& response = result.at("response").as_object();
    EXPECT_EQ(response.at("status_code").as_int64(), 200);
    EXPECT_EQ(fmt::format("r{}", response.at("body").as_object().at("i").as_int64()), id);
  }
}

TEST_F(BatchRunTest, WritesResultsAsTheyComeAndKeepsSoManyOpen) {
  size_t most = 0;
  events_.on_progress = [&](const BatchCounts& counts) {
    most = std::max(most, static_cast<size_t>(counts.open));
    if (counts.open < 3 || kept_.empty()) return;
    kept_.back()->respond({.body = "{}"});  // the newest first
    kept_.pop_back();
  };
  // The last ones: nothing more is read, so somebody else answers.
  events_.is_cancelled = [&] {
    if (results().size() >= 3) {
      for (const auto& exchange : kept_) exchange->respond({.body = "{}"});
      kept_.clear();
    }
    return false;
  };
  ASSERT_OK_AND_ASSIGN(const BatchCounts counts,
                       run(line("a", "/kept") + line("b", "/kept") + line("c", "/kept") + line("d", "/kept") +
                               line("e", "/kept"),
                           3));
  EXPECT_EQ(counts.done, 5);
  EXPECT_EQ(most, 3U);
  EXPECT_EQ(results()[0].first, "c");
  EXPECT_EQ(results()[1].first, "d");
}

TEST_F(BatchRunTest, BadLinesAreNamedAndTheRunGoesOn) {
  ASSERT_OK_AND_ASSIGN(const BatchCounts counts, run("{\n\n" + line("a", "/echo") + line("a", "/echo") +
                                                     "[1]\n" + line("b", "/echo") + R"({"custom_id": "c"})"));
  EXPECT_EQ(counts.done, 2);
  EXPECT_EQ(counts.bad_lines, 4);
  ASSERT_EQ(bad_.size(), 4U);
  EXPECT_TRUE(bad_[0].starts_with("1: "));
  EXPECT_TRUE(bad_[1].starts_with("4: custom_id \"a\"")) << bad_[1];
  EXPECT_TRUE(bad_[2].starts_with("5: "));
  EXPECT_TRUE(bad_[3].starts_with("7: method: expected")) << bad_[3];  // said once
  EXPECT_EQ(results().size(), 2U);
}

TEST_F(BatchRunTest, MakesResultsDurableEverySecond) {
  put("/in", line("a", "/echo") + line("b", "/kept"));
  ASSERT_OK_AND_ASSIGN(LineReader reader, LineReader::open(*files_, "/in", 1 << 20));
  ASSERT_OK_AND_ASSIGN(ResultFile results, ResultFile::open(*files_, "/out"));
  int turns = 0;
  std::vector<bool> unsynced;
  events_.on_progress = [&](const BatchCounts& counts) {
    if (counts.done == 0) return;
    unsynced.push_back(results.unsynced());
    // Half a second passes with each turn.
    clock_.advance(std::chrono::milliseconds(500));
    if (++turns == 6) kept_.front()->respond({.body = "{}"});
  };
  ASSERT_OK(BatchRun(routes_, results, clock_, 4).run(reader, events_));
  ASSERT_GT(unsynced.size(), 3U);
  EXPECT_TRUE(unsynced[0]);
  EXPECT_TRUE(unsynced[1]);
  EXPECT_FALSE(unsynced[2]);
  EXPECT_FALSE(results.unsynced());
}

TEST_F(BatchRunTest, FailuresAreResults) {
  ASSERT_OK_AND_ASSIGN(const BatchCounts counts,
                       run(line("refused", "/wrong") + line("nowhere", "/v2") + line("getter", "/get") +
                           line("public", "/open") + line("streamed", "/echo", R"({"stream": true})") +
                           line("silent", "/silent") + line("url", "no url") + line("good", "/echo")));
  EXPECT_EQ(counts.done, 8);
  EXPECT_EQ(counts.failed, 7);
  std::map<std::string, json::object> all;
  for (auto& [id, result] : results()) all[id] = result;
  EXPECT_EQ(all["refused"]["response"].as_object()["status_code"].as_int64(), 400);
  EXPECT_TRUE(all["refused"]["error"].is_null());
  for (const char* id : {"nowhere", "getter", "public", "url"}) {
    EXPECT_TRUE(all[id]["response"].is_null()) << id;
    EXPECT_EQ(all[id]["error"].as_object()["code"].as_string(), "invalid_url") << id;
  }
  EXPECT_EQ(all["streamed"]["error"].as_object()["code"].as_string(), "invalid_request");
  EXPECT_EQ(all["silent"]["error"].as_object()["code"].as_string(), "no_answer");
  EXPECT_TRUE(all["good"]["error"].is_null());
}

TEST_F(BatchRunTest, GoesOnWhereItWasInterrupted) {
  const std::string requests =
      line("a", "/echo") + line("b", "/kept") + line("c", "/kept") + line("d", "/echo");
  bool closed = false;
  events_.is_cancelled = [&] {
    if (kept_.size() < 2) return false;
    kept_[0]->on_close([&] { closed = true; });
    return true;
  };
  ASSERT_OK_AND_ASSIGN(const BatchCounts first, run(requests, 3));
  EXPECT_TRUE(first.interrupted);
  EXPECT_TRUE(closed) << "what is open is cancelled";
  kept_[0]->respond({.body = "{}"});  // too late
  ASSERT_EQ(results().size(), 1U) << "what was answered is written";
  EXPECT_EQ(results()[0].first, "a");

  kept_.clear();
  routes_ = {};
  for (const char* path : {"/echo", "/kept"}) {
    routes_.add("POST", path,
                [](const std::shared_ptr<Exchange>& exchange) { exchange->respond({.body = "{}"}); });
  }
  events_.is_cancelled = nullptr;
  ASSERT_OK_AND_ASSIGN(const BatchCounts second, run(requests));
  EXPECT_FALSE(second.interrupted);
  EXPECT_EQ(second.skipped, 1);
  EXPECT_EQ(second.done, 3);
  std::vector<std::string> ids;
  for (const auto& [id, result] : results()) ids.push_back(id);
  std::ranges::sort(ids);
  EXPECT_EQ(ids, (std::vector<std::string>{"a", "b", "c", "d"}));

  ASSERT_OK_AND_ASSIGN(const BatchCounts third, run(requests));
  EXPECT_EQ(third.skipped, 4);
  EXPECT_EQ(third.done, 0);
}

TEST_F(BatchRunTest, AsksAgainWhereTooManyWaited) {
  std::vector<std::shared_ptr<Exchange>> running;
  int refused = 0;
  routes_.add("POST", "/busy", [&](std::shared_ptr<Exchange> exchange) {
    if (running.size() >= 2) {
      ++refused;
      exchange->respond({.status = 429, .body = "{}"});
      return;
    }
    running.push_back(std::move(exchange));
  });
  int looks = 0;
  events_.is_cancelled = [&] {
    if (++looks % 4 == 0 && !running.empty()) {
      running.front()->respond({.body = "{}"});
      running.erase(running.begin());
    }
    return false;
  };
  std::string requests;
  for (int i = 0; i < 6; ++i) requests += line(std::to_string(i), "/busy");
  ASSERT_OK_AND_ASSIGN(const BatchCounts counts, run(requests, 6));
  EXPECT_GT(refused, 0);
  EXPECT_EQ(counts.done, 6);
  EXPECT_EQ(counts.failed, 0);
}

TEST_F(BatchRunTest, ARequestThatIsTooManyByItselfFails) {
  routes_.add("POST", "/never", [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.status = 429, .body = "{}"});
  });
  ASSERT_OK_AND_ASSIGN(const BatchCounts counts, run(line("a", "/never") + line("b", "/echo")));
  EXPECT_EQ(counts.done, 2);
  EXPECT_EQ(counts.failed, 1);
}

TEST_F(BatchRunTest, TakesAnswersFromOtherThreads) {
  std::vector<std::thread> threads;
  routes_.add("POST", "/later", [&](std::shared_ptr<Exchange> exchange) {
    threads.emplace_back([exchange = std::move(exchange)]() mutable {
      exchange->respond({.body = exchange->request().body});
      exchange.reset();
    });
  });
  std::string requests;
  for (int i = 0; i < 50; ++i) requests += line(std::to_string(i), "/later");
  ASSERT_OK_AND_ASSIGN(const BatchCounts counts, run(requests, 8));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts.done, 50);
  EXPECT_EQ(results().size(), 50U);
}

}  // namespace
}  // namespace kvern::server
