#include "server/batch/batch_line.h"

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::server {
namespace {

TEST(BatchLine, HasANameARouteAndABody) {
  ASSERT_OK_AND_ASSIGN(const BatchLine line,
                       read_batch_line(R"({"custom_id": "a-1", "method": "POST", "url": "/v1/completions",
                                           "body": {"prompt": "x"}})"));
  EXPECT_EQ(line.custom_id, "a-1");
  EXPECT_EQ(line.method, "POST");
  EXPECT_EQ(line.url, "/v1/completions");
  EXPECT_EQ(to_json(line.body), R"({"prompt":"x"})");
}

TEST(BatchLine, SaysWhatIsWrong) {
  EXPECT_ERROR(read_batch_line("{"), kInvalidArgument, "");
  EXPECT_ERROR(read_batch_line("[]"), kInvalidArgument, "array");
  EXPECT_ERROR(read_batch_line(R"({"method": "POST", "url": "/", "body": {}})"), kInvalidArgument,
               "custom_id");
  EXPECT_ERROR(read_batch_line(R"({"custom_id": "", "method": "POST", "url": "/", "body": {}})"),
               kInvalidArgument, "custom_id");
  EXPECT_ERROR(read_batch_line(R"({"custom_id": 7, "method": "POST", "url": "/", "body": {}})"),
               kInvalidArgument, "custom_id");
  EXPECT_ERROR(read_batch_line(R"({"custom_id": "a", "url": "/", "body": {}})"), kInvalidArgument, "method");
  EXPECT_ERROR(read_batch_line(R"({"custom_id": "a", "method": "POST", "body": {}})"), kInvalidArgument,
               "url");
  EXPECT_ERROR(read_batch_line(R"({"custom_id": "a", "method": "POST", "url": "/"})"), kInvalidArgument,
               "body");
  EXPECT_ERROR(read_batch_line(R"({"custom_id": "a", "method": "POST", "url": "/", "body": []})"),
               kInvalidArgument, "body");
  EXPECT_ERROR(read_batch_line(R"({"custom_id": "a", "method": "POST", "url": "/", "body": {}, "x": 1})"),
               kUnsupported, "x");
}

TEST(BatchLine, ResultsHaveTheShapeOfOpenAIs) {
  EXPECT_EQ(to_json(answered_result("a", "3", {.status = 200, .body = R"({"text": "b"})"})),
            R"({"id":"batch_req_3","custom_id":"a","response":{"status_code":200,"request_id":"3",)"
            R"("body":{"text":"b"}},"error":null})");
  EXPECT_EQ(to_json(failed_result("a", "3", "invalid_url", "is nothing")),
            R"({"id":"batch_req_3","custom_id":"a","response":null,)"
            R"("error":{"code":"invalid_url","message":"is nothing"}})");
  EXPECT_TRUE(answered_result("a", "3", {.status = 0, .body = ""})["response"].is_null());
}

}  // namespace
}  // namespace kvern::server
