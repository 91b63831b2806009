// All parts together on the bundled model, over a socket: the protocols have tests of their own.
#include "server/app/serving.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"
#include "engine/loop/engine_loop.h"
#include "server/app/app.h"
#include "server/http/test_server.h"
#include "support/result_matchers.h"

namespace kvern::test {
namespace {

using server::App;
using server::Serving;

class SilentLog : public server::RequestLog {
 public:
  void request(const server::HttpRecord& record) override {
    const std::lock_guard lock(mutex_);
    records_.push_back(record);
    changed_.notify_all();
  }
  server::HttpRecord record(size_t n) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return records_.size() > n; });
    return records_.at(n);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<server::HttpRecord> records_;
};

class ServingTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = engine::Engine::open(
        *files_,
        {.model_path = std::string(KVERN_SOURCE_DIR) + "/models/kvern-tiny-8m-q8_0.gguf", .threads = 1});
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    engine_ = *std::move(opened);
    engine::LoopOptions options;
    options.hooks.before_step = [this] {
      while (++steps_ > kStepsBeforeHolding && held_) std::this_thread::yield();
    };
    loop_ = std::make_unique<engine::EngineLoop>(*engine_, *clock_, options);
    auto keys = server::ApiKeys::load(*files_, {.keys = {"alice:secret"}, .file = {}});
    ASSERT_TRUE(keys.has_value());
    keys_ = *std::move(keys);
    app_ = std::make_unique<App>(server::AppOptions{.version = "test", .cors_origins = {}},
                                 App::Parts{.keys = *keys_, .metrics = metrics_, .log = log_});
    auto started = server::HttpServer::start({.listen = {{.host = "127.0.0.1", .port = 0}}, .tls = {}},
                                             {.application = *app_, .clock = *clock_, .log = null_log()});
    ASSERT_TRUE(started.has_value()) << started.error().to_string();
    http_ = *std::move(started);
    app_->observe(*http_);
  }
  void serve() {
    serving_ = std::make_unique<Serving>(
        server::ServingOptions{.model_name = "tiny", .aliases = {"other"}, .system_fingerprint = "fp"},
        Serving::Parts{
            .service = *loop_, .engine = *engine_, .clock = *clock_, .log = null_log(), .metrics = metrics_});
    app_->serve(serving_->routes(), serving_->service());
  }
  void TearDown() override {
    held_ = false;
    if (loop_) loop_->stop(engine::StopMode::kCancel);
    if (loop_) loop_->wait_stopped();
    http_.reset();
    serving_.reset();
  }
  RawClient connect() const { return RawClient(http_->addresses().front().port); }
  static std::string chat(bool stream, int max_tokens) {
    const std::string body = to_json(json::object{{"model", "tiny"},
                                                  {"stream", stream},
                                                  {"max_tokens", max_tokens},
                                                  {"temperature", 0},
                                                  {"messages", {{{"role", "user"}, {"content", "Hello"}}}}});
    return post("/v1/chat/completions", body,
                "Authorization: Bearer secret\r\nContent-Type: application/json\r\n");
  }

  // While set, the loop stands still after some steps: a generation that has begun does not end by itself.
  static constexpr int64_t kStepsBeforeHolding = 3;
  std::atomic<bool> held_ = false;
  std::atomic<int64_t> steps_ = 0;

  const std::unique_ptr<Files> files_ = make_posix_files();
  const std::unique_ptr<Clock> clock_ = make_system_clock();
  server::Metrics metrics_{{{"model_name", "tiny"}}};
  SilentLog log_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<engine::EngineLoop> loop_;
  std::unique_ptr<server::ApiKeys> keys_;
  std::unique_ptr<App> app_;
  std::unique_ptr<server::HttpServer> http_;
  std::unique_ptr<Serving> serving_;
};

TEST_F(ServingTest, AnswersFromTheMomentTheModelIsThere) {
  RawClient client = connect();
  client.send(chat(false, 4));
  EXPECT_EQ(client.read_response().status, 503);
  serve();
  client.send(chat(false, 4));
  const RawResponse response = client.read_response();
  ASSERT_EQ(response.status, 200) << response.body;
  ASSERT_OK_AND_ASSIGN(const json::value answer, parse_json(response.body, "body"));
  EXPECT_EQ(answer.at("model").as_string(), "tiny");
  EXPECT_EQ(answer.at("usage").at("completion_tokens").to_number<int64_t>(), 4);

  const server::HttpRecord record = log_.record(1);
  EXPECT_EQ(record.client, "alice");
  EXPECT_EQ(record.route, "/v1/chat/completions");
  EXPECT_EQ(record.usage->generated_tokens, 4);
  EXPECT_EQ(record.usage->prompt_tokens, answer.at("usage").at("prompt_tokens").to_number<int64_t>());
}

TEST_F(ServingTest, MetricsTellOfWhatWasDone) {
  serve();
  RawClient client = connect();
  client.send(chat(true, 5));
  EXPECT_TRUE(client.read_response().body.ends_with("data: [DONE]\n\n"));
  client.send(get("/metrics", "x-api-key: secret\r\n"));
  const RawResponse metrics = client.read_response();
  EXPECT_EQ(metrics.header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  for (const char* line : {"vllm:generation_tokens_total{model_name=\"tiny\"} 5\n",
                           "vllm:time_to_first_token_seconds_count{model_name=\"tiny\"} 1\n",
                           "vllm:inter_token_latency_seconds_count{model_name=\"tiny\"} 4\n",
                           "vllm:request_success_total{model_name=\"tiny\",finished_reason=\"length\"} 1\n",
                           "kvern_http_connections{model_name=\"tiny\"} 1\n"})
    EXPECT_NE(metrics.body.find(line), std::string::npos) << line;
}

TEST_F(ServingTest, AClientThatGoesEndsItsGeneration) {
  held_ = true;
  serve();
  RawClient client = connect();
  client.send(chat(true, 1'000'000));
  client.read_until("data: ");
  client.close();
  log_.record(0);  // the server has seen it go
  held_ = false;
  while (serving_->service().open() > 0) std::this_thread::yield();
  // The loop says what it counted when its step is over.
  while (loop_->stats().requests_cancelled == 0) std::this_thread::yield();
  EXPECT_EQ(loop_->stats().requests_cancelled, 1U);
}

TEST_F(ServingTest, ShuttingDownEndsStreamsWithAnErrorThatSaysWhy) {
  held_ = true;
  serve();
  RawClient client = connect();
  client.send(chat(true, 1'000'000));
  client.read_until("data: ");
  app_->begin_shutdown();
  http_->stop_accepting();
  serving_->service().end_all();
  held_ = false;
  EXPECT_NE(client.read_until("0\r\n\r\n").find("shutting down"), std::string::npos);
  EXPECT_TRUE(client.at_end());
  client.close();
  EXPECT_TRUE(http_->wait_until_idle(std::chrono::seconds(20)));
}

}  // namespace
}  // namespace kvern::test
