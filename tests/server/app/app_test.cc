#include "server/app/app.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/memory_files.h"
#include "server/http/target.h"
#include "support/result_matchers.h"

namespace kvern::server {
namespace {

class QuietService : public engine::GenerationService {
 public:
  Result<engine::Ticket> submit(engine::ServiceRequest, std::shared_ptr<engine::GenerationSink>) override {
    return fail(ErrorCode::kInternal, "not here");
  }
  void cancel(engine::Ticket) override {}
  engine::ServiceStats stats() const override { return now; }
  std::vector<engine::RowInfo> rows() const override { return {}; }
  Status health() const override { return able; }
  engine::ServiceStats now;
  Status able = Ok{};
};

class LastRecord : public RequestLog {
 public:
  void request(const HttpRecord& record) override { last = record; }
  HttpRecord last;
};

class AppTest : public testing::Test {
 protected:
  AppTest() {
    routes_.add("POST", "/v1/echo/{name}", [](std::shared_ptr<Exchange>) {}, {.max_body_bytes = 77});
    routes_.add("GET", "/v1/echo/{name}", [](std::shared_ptr<Exchange>) {});
  }
  void make(AppOptions options = {}, std::vector<std::string> keys = {}) {
    auto loaded = ApiKeys::load(*files_, {.keys = std::move(keys), .file = {}});
    ASSERT_TRUE(loaded.has_value());
    keys_ = *std::move(loaded);
    app_ = std::make_unique<App>(std::move(options),
                                 App::Parts{.keys = *keys_, .metrics = metrics_, .log = log_});
  }
  HttpDecision ask(const std::string& method, const std::string& path, HttpHeaders headers = {}) {
    request_ = HttpRequest{.method = method, .headers = std::move(headers)};
    auto target = parse_target(path);
    request_.path = target->path;
    return app_->decide(request_, target->segments);
  }
  static std::string header(const HttpResponse& response, const std::string& name) {
    for (const auto& [key, value] : response.headers)
      if (key == name) return value;
    return "none";
  }

  const std::unique_ptr<Files> files_ = make_memory_files();
  Metrics metrics_;
  LastRecord log_;
  Router routes_;
  QuietService service_;
  std::unique_ptr<ApiKeys> keys_;
  std::unique_ptr<App> app_;
  HttpRequest request_;
};

TEST_F(AppTest, WhileTheModelIsLoadedEverythingSaysSo) {
  make();
  for (const char* path : {"/health", "/v1/echo/x", "/nothing"}) {
    const HttpDecision decision = ask("GET", path);
    ASSERT_TRUE(decision.answer) << path;
    EXPECT_EQ(decision.answer->status, 503) << path;
    EXPECT_EQ(header(*decision.answer, "Retry-After"), "1");
    EXPECT_NE(decision.answer->body.find("Loading model"), std::string::npos);
  }
  EXPECT_FALSE(ask("GET", "/metrics").answer);
  EXPECT_FALSE(ask("GET", "/version").answer);
}

TEST_F(AppTest, ThenRoutesAnswerAndHealthIsGood) {
  make();
  app_->serve(routes_, service_);
  const HttpDecision decision = ask("POST", "/v1/echo/a%2Fb");
  EXPECT_FALSE(decision.answer);
  EXPECT_TRUE(decision.handler);
  EXPECT_EQ(decision.route, "/v1/echo/{name}");
  EXPECT_EQ(decision.max_body_bytes, 77U);
  EXPECT_EQ(request_.path_values, std::vector<std::string>{"a/b"});
  EXPECT_EQ(ask("GET", "/health").answer->body, R"({"status":"ok"})");
  EXPECT_EQ(ask("HEAD", "/health").answer->status, 200);
}

TEST_F(AppTest, ADeadEngineIsNotHealthy) {
  make();
  app_->serve(routes_, service_);
  service_.able = fail(ErrorCode::kCorrupt, "model.gguf: it was written to", "weights");
  for (const char* path : {"/health", "/v1/echo/x"}) {
    const HttpDecision decision = ask("GET", path);
    ASSERT_TRUE(decision.answer) << path;
    EXPECT_EQ(decision.answer->status, 503) << path;
    EXPECT_EQ(header(*decision.answer, "Retry-After"), "60");
    EXPECT_NE(decision.answer->body.find("model.gguf: it was written to; restart the server"),
              std::string::npos);
    EXPECT_NE(decision.answer->body.find(R"("code":"model_changed")"), std::string::npos);
  }
  EXPECT_FALSE(ask("GET", "/metrics").answer);
  service_.able = fail(ErrorCode::kInternal, "the engine has failed");
  EXPECT_NE(ask("GET", "/health").answer->body.find(R"("code":"engine_failed")"), std::string::npos);
}

TEST_F(AppTest, AModelThatCannotBeLoadedIsSaidEverywhere) {
  make();
  app_->fail("model.gguf: truncated");
  EXPECT_EQ(ask("GET", "/v1/echo/x").answer->status, 503);
  EXPECT_NE(ask("GET", "/health").answer->body.find("model.gguf: truncated"), std::string::npos);
}

TEST_F(AppTest, ShuttingDownTurnsBalancersAwayAndAnswersRequests) {
  make();
  app_->serve(routes_, service_);
  app_->begin_shutdown();
  EXPECT_EQ(ask("GET", "/health").answer->status, 503);
  EXPECT_FALSE(ask("GET", "/v1/echo/x").answer);
}

TEST_F(AppTest, UnknownPathsAndMethodsAreErrorsOfTheClient) {
  make();
  app_->serve(routes_, service_);
  EXPECT_EQ(ask("GET", "/nothing").answer->status, 404);
  const HttpDecision wrong_method = ask("DELETE", "/v1/echo/x");
  EXPECT_EQ(wrong_method.answer->status, 405);
  EXPECT_EQ(header(*wrong_method.answer, "Allow"), "GET, HEAD, POST");
  const HttpDecision options = ask("OPTIONS", "/v1/echo/x");
  EXPECT_EQ(options.answer->status, 204);
  EXPECT_EQ(header(*options.answer, "Allow"), "GET, HEAD, POST");
  EXPECT_EQ(ask("GET", "/v1/echo/../../etc/passwd").answer->status, 404);
}

TEST_F(AppTest, AnthropicsClientsGetTheErrorsThatTheyRead) {
  make();
  const auto type_of = [](const HttpDecision& decision) {
    const auto body = parse_json(decision.answer->body, "");
    return std::string(body->at("type").as_string()) + " " +
           std::string(body->at("error").at("type").as_string());
  };
  const HttpDecision loading = ask("POST", "/v1/messages");
  EXPECT_EQ(loading.answer->status, 529);
  EXPECT_EQ(header(*loading.answer, "Retry-After"), "1");
  EXPECT_EQ(type_of(loading), "error overloaded_error");

  routes_.add("POST", "/v1/messages", [](std::shared_ptr<Exchange>) {});
  app_->serve(routes_, service_);
  const HttpDecision no_path = ask("POST", "/v1/messages/nothing");
  EXPECT_EQ(no_path.answer->status, 404);
  EXPECT_EQ(type_of(no_path), "error not_found_error");
  const HttpDecision wrong_method = ask("GET", "/v1/messages");
  EXPECT_EQ(wrong_method.answer->status, 405);
  EXPECT_EQ(header(*wrong_method.answer, "Allow"), "POST");
  EXPECT_EQ(type_of(wrong_method), "error invalid_request_error");
  EXPECT_EQ(type_of(ask("GET", "/nothing", {{"anthropic-version", "2023-06-01"}})), "error not_found_error");
  EXPECT_FALSE(parse_json(ask("GET", "/nothing").answer->body, "")->as_object().contains("type"));
}

TEST_F(AppTest, KeysAreAskedForEverywhereButForHealth) {
  make({}, {"alice:secret"});
  app_->serve(routes_, service_);
  const HttpDecision without = ask("GET", "/v1/echo/x");
  EXPECT_EQ(without.answer->status, 401);
  EXPECT_EQ(header(*without.answer, "WWW-Authenticate"), "Bearer");
  EXPECT_EQ(ask("GET", "/v1/echo/x", {{"Authorization", "Bearer wrong"}}).answer->status, 401);
  EXPECT_EQ(ask("GET", "/metrics").answer->status, 401);
  EXPECT_EQ(ask("GET", "/health").answer->status, 200);
  EXPECT_FALSE(ask("GET", "/version").answer);
  EXPECT_FALSE(ask("GET", "/v1/echo/x", {{"Authorization", "Bearer secret"}}).answer);
  EXPECT_EQ(request_.client, "alice");
  EXPECT_FALSE(ask("GET", "/metrics", {{"x-api-key", "secret"}}).answer);
}

TEST_F(AppTest, MetricsMayBeOpen) {
  make({.open_metrics = true}, {"alice:secret"});
  EXPECT_FALSE(ask("GET", "/metrics").answer);
}

TEST_F(AppTest, BrowsersGetTheirHeadersOnEveryAnswerAndNeedNoKeyToAskFirst) {
  make({.cors_origins = {"https://a.example"}}, {"alice:secret"});
  app_->serve(routes_, service_);
  const HttpHeaders origin{{"Origin", "https://a.example"}};
  EXPECT_EQ(ask("GET", "/v1/echo/x", origin).answer->status, 401);
  EXPECT_EQ(ask("GET", "/v1/echo/x", origin).headers.size(), 3U);
  HttpHeaders preflight = origin;
  preflight.emplace_back("Access-Control-Request-Method", "POST");
  EXPECT_EQ(ask("OPTIONS", "/v1/echo/x", preflight).answer->status, 204);
}

TEST_F(AppTest, CountsRequestsByRouteAndWritesThemDown) {
  make();
  app_->serve(routes_, service_);
  app_->finished({.id = "1",
                  .route = "/v1/echo/{name}",
                  .answer = {.status = 200, .whole = true, .bytes = 10},
                  .usage = nullptr});
  app_->finished(
      {.id = "2", .route = "", .answer = {.status = 404, .whole = true, .bytes = 10}, .usage = nullptr});
  EXPECT_EQ(log_.last.id, "2");
  service_.now.running = 9;
  const std::string text = metrics_.text();
  for (const char* line : {"kvern_http_requests_total{route=\"/v1/echo/{name}\",status=\"200\"} 1\n",
                           "kvern_http_requests_total{route=\"none\",status=\"404\"} 1\n",
                           "kvern_http_sent_bytes_total 20\n", "vllm:num_requests_running 9\n",
                           "kvern_http_request_duration_seconds_count 2\n", "process_open_fds "})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

}  // namespace
}  // namespace kvern::server
