// Prefixes that outlive the process: what one engine saves in a directory, another one of the same kind takes
// up, and nobody can tell from what comes out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "engine/loop/batch.h"
#include "engine/loop/session.h"
#include "engine/support/engines.h"
#include "engine/support/generation.h"
#include "engine/tiers/kv_directory.h"
#include "support/result_matchers.h"
#include "support/temporary_directory.h"

namespace kvern::engine {
namespace {

using test::expect_same;
using test::RecordingSink;
using test::request_for;
using test::run_all;
using test::run_cold;
using test::submit;
using test::tokens_of;

class QuietLog final : public LogSink {
 public:
  void log(LogLevel level, std::string_view message) override {
    if (level >= LogLevel::kWarning) ADD_FAILURE() << message;
  }
};

/// A process: an engine, its directory and what runs them. Members are destroyed from the last to the first.
struct Process {
  std::unique_ptr<Engine> engine;
  std::unique_ptr<KvDirectory> kv;
  std::unique_ptr<Batch> batch;

  FlushReport flush() { return batch->flush(std::chrono::steady_clock::now() + std::chrono::minutes(1)); }
};

class Machine {
 public:
  Machine() {
    for (const char* preset : {"tiny-gemma3", "tiny-llama"}) {
      EXPECT_OK(model::write_synthetic_model(
          *models_,
          {.preset = preset, .type = compute::DType::kQ8_0, .path = preset + std::string(".gguf")}));
    }
  }

  struct Settings {
    const char* preset = nullptr;  // of a synthetic model; null: the bundled one
    KvSettings kv;
    size_t kv_budget_bytes = 0;
    size_t prefix_bytes = size_t{1} << 30;
    KvDirectoryOptions directory{.path = "kv"};
  };
  Result<Process> start(const Settings& settings) {
    EngineOptions options{.threads = 2, .context_tokens = 512, .chunk_tokens = 64, .kv = settings.kv};
    options.kv_budget_bytes = settings.kv_budget_bytes;
    Process process;
    if (settings.preset != nullptr) {
      options.model_path = settings.preset + std::string(".gguf");
      KVERN_TRY(process.engine, Engine::open(*models_, options));
    } else {
      KVERN_TRY(process.engine, test::open_bundled(options));
    }
    KVERN_TRY(process.kv,
              KvDirectory::open({.files = *files_, .clock = *clock_, .log = log_}, settings.directory));
    LoopOptions loop;
    loop.prefix.max_bytes = settings.prefix_bytes;
    loop.prefix.snapshot_tokens = 64;
    KVERN_TRY_STATUS(process.kv->add_to(loop.tiers, *process.engine));
    loop.tiers.settle = std::chrono::milliseconds(0);
    process.batch = std::make_unique<Batch>(*process.engine, *clock_, loop);
    return process;
  }
  Files& files() { return *files_; }
  const Clock& clock() const { return *clock_; }
  LogSink& log() { return log_; }

 private:
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Files> files_ = make_memory_files();
  std::unique_ptr<Files> models_ = make_memory_files();
  QuietLog log_;
};

struct Kind {
  const char* name;
  const char* preset;
  KvSettings kv;
};

class Restart : public testing::TestWithParam<Kind> {
 protected:
  Machine::Settings settings() const { return {.preset = GetParam().preset, .kv = GetParam().kv}; }
  Machine machine_;
};

TEST_P(Restart, gives_the_same_tokens_and_computes_only_what_is_new) {
  const ServiceRequest first = request_for(tokens_of(1, 150), 20);
  std::vector<TokenId> conversation = first.generate.prompt;
  std::shared_ptr<RecordingSink> before;
  {
    ASSERT_OK_AND_ASSIGN(Process process, machine_.start(settings()));
    before = submit(*process.batch, first);
    run_all(*process.batch);
    const FlushReport report = process.flush();
    EXPECT_TRUE(report.durable);
    EXPECT_GE(report.saved, 1U);
  }
  const auto& answer = before->choices[0].ids;
  conversation.insert(conversation.end(), answer.begin(), answer.end());
  const auto question = tokens_of(2, 30);
  conversation.insert(conversation.end(), question.begin(), question.end());
  const ServiceRequest next = request_for(conversation, 20);
  {
    // Without a flush: all that was durable before is there after a crash.
    ASSERT_OK_AND_ASSIGN(Process process, machine_.start(settings()));
    const auto again = submit(*process.batch, first);
    run_all(*process.batch);
    expect_same(*again, *before);
    EXPECT_GE(again->end->cached_tokens, 149);
  }
  ASSERT_OK_AND_ASSIGN(Process process, machine_.start(settings()));
  const auto resumed = submit(*process.batch, next);
  run_all(*process.batch);
  expect_same(*resumed, *run_cold(*process.engine, next));
  EXPECT_EQ(resumed->end->cached_tokens, 169);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Restart,
    testing::Values(Kind{"f16_paged", nullptr, {.type = "f16", .layout = "paged"}},
                    Kind{"f16_slab", nullptr, {.type = "f16", .layout = "slab"}},
                    Kind{"q8_paged_16", nullptr, {.type = "q8", .layout = "paged", .page = 16}},
                    Kind{"q8_slab", nullptr, {.type = "q8", .layout = "slab"}},
                    Kind{"h4_paged", nullptr, {.type = "h4", .layout = "paged"}},
                    Kind{"h4_slab", nullptr, {.type = "h4", .layout = "slab"}},
                    Kind{"turbo_paged", "tiny-llama", {.type = "turbo:k8v3", .layout = "paged"}},
                    Kind{"turbo_slab", "tiny-llama", {.type = "turbo:k8v3", .layout = "slab"}},
                    Kind{"f16_windowed", "tiny-gemma3", {.type = "f16", .layout = "paged"}},
                    Kind{"q8_windowed_ring", "tiny-gemma3", {.type = "q8", .layout = "ring"}},
                    Kind{"q4_late", nullptr, {.type = "q4", .quant_start = 100}}),
    [](const auto& info) { return info.param.name; });

// Between layouts: bytes on disk do not depend on them.
TEST(RestartOther, layouts_share_what_is_saved) {
  Machine machine;
  const ServiceRequest request = request_for(tokens_of(1, 150), 10);
  {
    ASSERT_OK_AND_ASSIGN(Process process, machine.start({.kv = {.type = "q8", .layout = "slab"}}));
    submit(*process.batch, request);
    run_all(*process.batch);
    process.flush();
  }
  ASSERT_OK_AND_ASSIGN(Process process, machine.start({.kv = {.type = "q8", .layout = "paged", .page = 32}}));
  const auto sink = submit(*process.batch, request);
  run_all(*process.batch);
  expect_same(*sink, *run_cold(*process.engine, request));
  EXPECT_EQ(sink->end->cached_tokens, 149);
}

// Cases B17, B27, B30, B31.
TEST(RestartOther, models_codecs_and_tenants_get_nothing) {
  Machine machine;
  ServiceRequest request = request_for(tokens_of(1, 150), 10);
  request.cache_namespace = "alice";
  const auto cached = [&](const Machine::Settings& settings) {
    auto process = machine.start(settings);
    EXPECT_OK(process);
    const auto sink = submit(*process->batch, request);
    run_all(*process->batch);
    expect_same(*sink, *run_cold(*process->engine, request));
    EXPECT_TRUE(process->flush().durable);
    return sink->end->cached_tokens;
  };
  EXPECT_EQ(cached({}), 0);
  EXPECT_EQ(cached({}), 149);
  EXPECT_EQ(cached({.kv = {.type = "q8"}}), 0);
  EXPECT_EQ(cached({.kv = {.type = "h8"}}), 0);
  EXPECT_EQ(cached({.preset = "tiny-gemma3"}), 0);
  request.cache_namespace = "bob";
  EXPECT_EQ(cached({}), 0);
  request.cache_namespace = "";
  EXPECT_EQ(cached({}), 0);
  // Each has its own by now, and nobody has lost his.
  EXPECT_EQ(cached({.kv = {.type = "q8"}, .directory = {.path = "kv", .read_only = true}}), 0);
  request.cache_namespace = "alice";
  EXPECT_EQ(cached({}), 149);
  EXPECT_EQ(cached({.kv = {.type = "q8"}}), 149);
  EXPECT_GT(cached({.preset = "tiny-gemma3"}), 0);
}

TEST(RestartOther, processes_that_only_read_save_nothing) {
  Machine machine;
  const ServiceRequest saved = request_for(tokens_of(1, 150), 10);
  const ServiceRequest other = request_for(tokens_of(2, 150), 10);
  {
    ASSERT_OK_AND_ASSIGN(Process process, machine.start({}));
    submit(*process.batch, saved);
    run_all(*process.batch);
    process.flush();
  }
  for (int round = 0; round < 2; ++round) {
    ASSERT_OK_AND_ASSIGN(Process process, machine.start({.directory = {.path = "kv", .read_only = true}}));
    const auto hit = submit(*process.batch, saved);
    const auto miss = submit(*process.batch, other);
    run_all(*process.batch);
    EXPECT_EQ(hit->end->cached_tokens, 149);
    EXPECT_EQ(miss->end->cached_tokens, 0);
    process.flush();
  }
}

// So little memory for kept prefixes that the disk has to serve, and so little in all that rows make way.
TEST(RestartOther, random_traffic_through_the_disk_gets_what_it_gets_alone) {
  for (const char* preset : {"tiny-llama", "tiny-gemma3"}) {
    Machine machine;
    Machine::Settings settings{.preset = preset, .kv = {.type = "q8", .page = 16}};
    ASSERT_OK_AND_ASSIGN(const Process roomy, machine.start(settings));
    const size_t row = roomy.engine->kv().projected_bytes(200);
    settings.kv_budget_bytes = 4 * row;
    settings.prefix_bytes = 3 * row / 2;
    std::mt19937 random(5);
    std::vector<ServiceRequest> requests;
    std::vector<std::shared_ptr<RecordingSink>> expected;
    for (uint64_t i = 0; i < 16; ++i) {
      auto prompt = tokens_of(random() % 5, 60 + random() % 60);
      const auto tail = tokens_of(100 + random() % 8, 1 + random() % 40);
      prompt.insert(prompt.end(), tail.begin(), tail.end());
      requests.push_back(request_for(prompt, 1 + static_cast<int64_t>(random() % 20)));
      requests.back().generate.sampling.temperature = i % 2 == 0 ? 0 : 1;
      requests.back().generate.sampling.seed = i;
      requests.back().choices = i % 5 == 4 ? 2 : 1;
      expected.push_back(run_cold(*roomy.engine, requests.back()));
    }
    uint64_t restored = 0;
    for (int round = 0; round < 3; ++round) {
      ASSERT_OK_AND_ASSIGN(Process process, machine.start(settings));
      std::vector<std::pair<size_t, std::shared_ptr<RecordingSink>>> sinks;
      for (int i = 0; i < 24; ++i) {
        const size_t which = random() % requests.size();
        sinks.emplace_back(which, submit(*process.batch, requests[which]));
        while (random() % 4 != 0) process.batch->step();
      }
      run_all(*process.batch);
      for (const auto& [which, sink] : sinks) {
        SCOPED_TRACE(testing::Message() << "round " << round << ", request " << which);
        expect_same(*sink, *expected[which]);
      }
      EXPECT_LE(process.engine->kv().allocated_bytes(), settings.kv_budget_bytes);
      restored += process.batch->stats().restores[0].tokens;
      if (round < 2) process.flush();  // the last one ends in the middle of things
    }
    EXPECT_GT(restored, 500U) << preset;
  }
}

TEST(RestartOther, sessions_save_their_conversation) {
  const kvern::test::TemporaryDirectory folder;  // the disk itself, once
  const auto files = make_posix_files();
  const auto clock = make_system_clock();
  QuietLog log;
  GenerateRequest request = request_for(tokens_of(1, 100), 8).generate;
  std::vector<TokenId> ids;
  for (const int64_t reused : {0, 99}) {
    ASSERT_OK_AND_ASSIGN(const auto engine, test::open_bundled());
    ASSERT_OK_AND_ASSIGN(const auto kv, KvDirectory::open({.files = *files, .clock = *clock, .log = log},
                                                          {.path = folder.path() + "/kv"}));
    TierOptions tiers;
    ASSERT_OK(kv->add_to(tiers, *engine));
    Session session(*engine, std::move(tiers));
    ASSERT_OK_AND_ASSIGN(const GenerateResult result, session.generate(request));
    EXPECT_EQ(result.reused_tokens, reused);
    if (reused > 0) {
      EXPECT_EQ(result.ids, ids);
    }
    ids = result.ids;
    EXPECT_TRUE(session.save(std::chrono::steady_clock::now() + std::chrono::minutes(1)).durable);
  }
}

}  // namespace
}  // namespace kvern::engine
