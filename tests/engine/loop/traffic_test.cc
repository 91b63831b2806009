// The same request gets the same tokens, texts and logits, whatever runs beside it and before it.
#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "engine/loop/batch.h"
#include "engine/support/engines.h"
#include "engine/support/generation.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

using test::expect_same;
using test::RecordingSink;
using test::run_all;
using test::run_cold;
using test::submit;
using test::tokens_of;

struct TrafficCase {
  const char* name;
  const char* preset;  // of a synthetic model; null: the bundled one
  KvSettings kv;
  size_t requests;
  size_t tight_rows;  // the tight budget holds so many rows of the longest request
  size_t shortest;    // tokens of the shortest prompt
};

constexpr int64_t kContext = 320;

/// Requests of all kinds: beginnings in common, other parameters each, some with several choices.
std::vector<ServiceRequest> random_requests(size_t count, size_t shortest, bool has_text) {
  std::mt19937 random(11);
  std::vector<ServiceRequest> requests;
  for (size_t i = 0; i < count; ++i) {
    const size_t length = shortest + random() % 60;  // the order of arguments is the compiler's
    std::vector<TokenId> prompt = tokens_of(random() % 3, length);
    const auto tail = tokens_of(1000 + i, 1 + random() % 30);
    prompt.insert(prompt.end(), tail.begin(), tail.end());
    ServiceRequest request =
        test::request_for(std::move(prompt), 1 + static_cast<int64_t>(random() % (i % 4 == 0 ? 80 : 16)));
    SamplingParams& sampling = request.generate.sampling;
    sampling.seed = random();
    switch (i % 6) {
      case 0:
        break;  // greedy
      case 1:
        sampling.temperature = 0.8F;
        break;
      case 2:
        sampling.temperature = 1.2F;
        sampling.repeat_penalty = 1.3F;
        sampling.repeat_last_n = kWholeHistory;
        break;
      case 3:
        sampling.temperature = 2;
        sampling.top_k = 1;
        sampling.top_logprobs = 3;
        break;
      case 4:
        sampling.temperature = 1;
        sampling.min_p = 0.2F;
        request.choices = 3;
        break;
      default:
        sampling.temperature = 1;
        sampling.xtc_probability = 0.5F;
        request.generate.ignore_end_tokens = false;
        if (has_text) request.generate.stop = {"e", "no such text"};
        break;
    }
    request.client = std::to_string(random() % 4);
    request.cache_namespace = i % 7 == 0 ? "other" : "";
    requests.push_back(std::move(request));
  }
  return requests;
}

class Traffic : public testing::TestWithParam<TrafficCase> {
 protected:
  Result<std::unique_ptr<Engine>> open(size_t kv_budget_bytes) {
    EngineOptions options{.threads = 2, .context_tokens = kContext, .chunk_tokens = 48, .kv = GetParam().kv};
    options.kv_budget_bytes = kv_budget_bytes;
    if (GetParam().preset == nullptr) return test::open_bundled(options);
    files_ = make_memory_files();
    KVERN_TRY_STATUS(test::write_synthetic(*files_, GetParam().preset));
    options.model_path = "/model.gguf";
    return Engine::open(*files_, options);
  }

  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(engine_, open(0));
    requests_ = random_requests(GetParam().requests, GetParam().shortest, engine_->tokenizer() != nullptr);
    // The same for all tests of a kind.
    static std::map<std::string, std::vector<std::shared_ptr<RecordingSink>>> known;
    auto& mine = known[GetParam().name];
    if (mine.empty()) {
      for (const ServiceRequest& request : requests_) mine.push_back(run_cold(*engine_, request));
    }
    expected_ = mine;
  }

  /// Submits all requests in a random order, some of them while others run.
  ServiceStats run(Engine& engine, const LoopOptions& options, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<size_t> order(requests_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::shuffle(order, random);
    std::vector<std::shared_ptr<RecordingSink>> sinks(requests_.size());
    const auto clock = make_system_clock();
    Batch batch(engine, *clock, options);
    for (const size_t i : order) {
      sinks[i] = submit(batch, requests_[i]);
      while (random() % 3 == 0) batch.step();
    }
    run_all(batch);
    uint64_t computed = 0;
    for (size_t i = 0; i < requests_.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "request " << i << ", seed " << seed);
      expect_same(*sinks[i], *expected_[i]);
      if (sinks[i]->end) {
        EXPECT_EQ(sinks[i]->end->prompt_tokens, std::ssize(requests_[i].generate.prompt));
        computed += static_cast<uint64_t>(sinks[i]->end->prompt_tokens - sinks[i]->end->cached_tokens);
      }
    }
    const ServiceStats stats = batch.stats();
    EXPECT_EQ(stats.computed_tokens, computed);  // nothing was computed twice
    EXPECT_EQ(stats.prompt_tokens, stats.cached_tokens + stats.computed_tokens);
    EXPECT_EQ(stats.running + stats.waiting + stats.outside, 0);
    EXPECT_EQ(stats.outside_bytes, 0U);
    EXPECT_EQ(stats.requests_ended, requests_.size());
    return stats;
  }

  std::unique_ptr<Files> files_;
  std::unique_ptr<Engine> engine_;
  std::vector<ServiceRequest> requests_;
  std::vector<std::shared_ptr<RecordingSink>> expected_;
};

// Cases B69, B73: neighbours, their order and their parameters.
TEST_P(Traffic, B73_gives_every_request_what_it_gets_alone) {
  const ServiceStats stats = run(*engine_, {.mixed_tokens = 16}, 1);
  EXPECT_EQ(stats.moved_out, 0U);
  EXPECT_EQ(engine_->kv().live_bytes(), 0U);
}

TEST_P(Traffic, B73_gives_the_same_with_kept_prefixes) {
  LoopOptions options{.max_rows = 5};
  options.prefix.max_bytes = size_t{1} << 30;
  options.prefix.snapshot_tokens = 32;
  const ServiceStats stats = run(*engine_, options, 2);
  EXPECT_GT(stats.cached_tokens, stats.computed_tokens / 8);
  EXPECT_GT(stats.prefix_queries, 0U);
}

TEST_P(Traffic, B53_gives_the_same_to_rows_that_move_out_and_back) {
  const size_t budget = engine_->kv().projected_bytes(kContext) * GetParam().tight_rows;
  ASSERT_OK_AND_ASSIGN(const auto tight, open(budget));
  LoopOptions options{.outside_bytes = 16 * budget};
  options.prefix.max_bytes = budget / 2;
  options.prefix.snapshot_tokens = 64;
  const ServiceStats stats = run(*tight, options, 3);
  EXPECT_GT(stats.moved_out, 0U);
  EXPECT_EQ(stats.moved_in, stats.moved_out);
  EXPECT_LE(tight->kv().allocated_bytes(), budget);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Traffic,
    testing::Values(
        TrafficCase{"f16_paged", nullptr, {.type = "f16", .layout = "paged", .page = 16}, 64, 1, 20},
        TrafficCase{"h4_paged", nullptr, {.type = "h4", .layout = "paged"}, 18, 2, 60},
        TrafficCase{"q8_ring_windowed", "tiny-gemma3", {.type = "q8", .layout = "ring"}, 24, 3, 60},
        TrafficCase{"f16_slab", "tiny-llama", {.type = "f16", .layout = "slab"}, 18, 2, 190},
        TrafficCase{"q4_padded_late",
                    "tiny-llama",
                    {.type = "q4", .layout = "padded", .quant_start = 40},
                    18,
                    3,
                    20}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace kvern::engine
