// A batch file on the bundled model.
#include "server/batch/batch_job.h"

#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "engine/support/engines.h"
#include "support/result_matchers.h"

namespace kvern::server {
namespace {

class BatchJobTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(engine_, engine::test::open_bundled()); }

  static std::string chat(std::string_view id, std::string_view question) {
    return fmt::format(
               R"({{"custom_id": "{}", "method": "POST", "url": "/v1/chat/completions", "body": {{"model": )"
               R"("tiny", "messages": [{{"role": "user", "content": "{}"}}], "max_tokens": 8, )"
               R"("temperature": 0}}}})",
               id, question) +
           "\n";
  }
  Result<BatchCounts> run(int64_t rows) {
    KVERN_TRY(BatchJob job, BatchJob::open(*files_, "/in", "/out"));
    const BatchModelOptions options{.names = {"tiny"}, .loop = {.max_rows = rows}};
    return job.run({.engine = *engine_, .clock = *clock_, .log = null_log()}, options, {});
  }
  std::map<std::string, std::string> answers() {
    std::map<std::string, std::string> all;
    auto reader = LineReader::open(*files_, "/out", 1 << 20);
    for (auto next = reader->next(); *next; next = reader->next()) {
      json::object object = parse_json((*next)->text, "")->as_object();
      json::object& body = object["response"].as_object()["body"].as_object();
      const json::object& choice = body["choices"].as_array()[0].as_object();
      all[std::string(object["custom_id"].as_string())] =
          std::string(choice.at("message").as_object().at("content").as_string());
    }
    return all;
  }

  std::unique_ptr<Files> files_ = make_memory_files();
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<engine::Engine> engine_;
};

TEST_F(BatchJobTest, GivesTheSameAnswersHoweverManyRowsRunTogether) {
  std::string requests;
  for (int i = 0; i < 12; ++i) requests += chat(fmt::format("r{}", i), fmt::format("What is number {}?", i));
  std::map<std::string, std::string> expected;
  for (const int64_t rows : {1, 8}) {
    files_ = make_memory_files();
    engine::test::put_file(*files_, "/in", requests);
    ASSERT_OK_AND_ASSIGN(const BatchCounts counts, run(rows));
    EXPECT_EQ(counts.done, 12);
    EXPECT_EQ(counts.failed, 0);
    if (rows == 1) expected = answers();
    EXPECT_EQ(answers(), expected);
  }
  EXPECT_EQ(expected.size(), 12U);
}

TEST_F(BatchJobTest, RefusesWhatTheServerWouldRefuse) {
  std::string wrong_model = chat("a", "Hello");
  wrong_model.replace(wrong_model.find("tiny"), 4, "gpt9");
  engine::test::put_file(*files_, "/in", wrong_model + chat("b", "Hello"));
  ASSERT_OK_AND_ASSIGN(const BatchCounts counts, run(2));
  EXPECT_EQ(counts.done, 2);
  EXPECT_EQ(counts.failed, 1);
  EXPECT_NE(engine::test::get_file(*files_, "/out").find("\"status_code\":404"), std::string::npos);
}

TEST_F(BatchJobTest, OpensItsFilesBeforeAllElse) {
  EXPECT_ERROR(BatchJob::open(*files_, "/in", "/out"), kNotFound, "/in");
  EXPECT_FALSE(files_->exists("/out"));
  engine::test::put_file(*files_, "/in", chat("a", "Hello") + "\n" + chat("b", "Hello"));
  EXPECT_ERROR(BatchJob::open(*files_, "/in", "/in"), kInvalidArgument, "same");
  engine::test::put_file(*files_, "/out", "something else\n");
  EXPECT_ERROR(BatchJob::open(*files_, "/in", "/out"), kCorrupt, "line 1");
  ASSERT_OK_AND_ASSIGN(const BatchJob job, BatchJob::open(*files_, "/in", "/new"));
  EXPECT_EQ(job.requests(), 2);
}

}  // namespace
}  // namespace kvern::server
