// What the loop costs beside computing: planning, admission, bookkeeping and delivery of a step. The model is
// a tiny synthetic one in memory, so that steps are short; its forward passes are not counted.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "base/clock.h"
#include "base/memory_files.h"
#include "engine/load/engine.h"
#include "engine/loop/batch.h"
#include "engine/schedule/fair_queue.h"
#include "engine/schedule/plan.h"
#include "model/synth/synthetic_model.h"

namespace kvern::engine {
namespace {

[[noreturn]] void stop(const Error& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  std::exit(1);
}

std::unique_ptr<Engine> open_tiny() {
  const auto files = make_memory_files();
  const auto written = model::write_synthetic_model(
      *files, {.preset = "tiny-llama", .type = compute::DType::kQ8_0, .path = "/model.gguf"});
  if (!written) stop(written.error());
  EngineOptions options{.model_path = "/model.gguf", .threads = 1, .context_tokens = 4096};
  auto engine = Engine::open(*files, options);
  if (!engine) stop(engine.error());
  return *std::move(engine);
}

class NullSink final : public GenerationSink {
 public:
  void on_token(TokenEvent event) override { benchmark::DoNotOptimize(event.token); }
  void on_choice_end(ChoiceEnd end) override { benchmark::DoNotOptimize(end.choice); }
  void on_end(const RequestEnd& end) override { benchmark::DoNotOptimize(end.generated_tokens); }
  void on_error(const Error& error) override { stop(error); }
};

/// Steps of a batch in which so many rows decode, others waiting behind them; the time is what stats() calls
/// schedule_seconds.
void decode_steps(benchmark::State& state) {
  const auto engine = open_tiny();
  const auto clock = make_system_clock();
  LoopOptions options{.max_rows = state.range(0)};
  options.prefix.max_bytes = size_t{64} << 20;
  Batch batch(*engine, *clock, options);
  const auto sink = std::make_shared<NullSink>();
  const auto submit = [&](int64_t i) {
    ServiceRequest request;
    for (int32_t t = 0; t < 16; ++t)
      request.generate.prompt.push_back(3 + static_cast<int32_t>((i * 7 + t * 13) % 200));
    request.generate.max_new_tokens = 4000;
    request.generate.ignore_end_tokens = true;
    request.generate.sampling.temperature = 0;
    request.client = std::to_string(i % 8);
    const auto ticket = batch.submit(std::move(request), sink);
    if (!ticket) stop(ticket.error());
  };
  for (int64_t i = 0; i < state.range(0) + state.range(1); ++i) submit(i);
  for (int i = 0; i < 16; ++i) batch.step();
  double scheduled = batch.stats().schedule_seconds;
  for (auto _ : state) {
    batch.step();
    const double now = batch.stats().schedule_seconds;
    state.SetIterationTime(now - scheduled);
    scheduled = now;
  }
  if (batch.stats().running != state.range(0)) state.SkipWithError("rows have ended");
}
BENCHMARK(decode_steps)
    ->ArgNames({"rows", "waiting"})
    ->Args({1, 0})
    ->Args({16, 0})
    ->Args({64, 0})
    ->Args({64, 256})
    ->Iterations(1000)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

void plan_rows(benchmark::State& state) {
  std::vector<PlannableRow> rows(static_cast<size_t>(state.range(0)));
  for (size_t i = 0; i < rows.size(); i += 4)
    rows[i] = {.prompt_tokens = 1000, .turn = static_cast<int64_t>(i % 3)};
  for (auto _ : state) benchmark::DoNotOptimize(plan(rows, {}));
}
BENCHMARK(plan_rows)->Arg(64)->Arg(1024);

void fair_queue_turn(benchmark::State& state) {
  FairQueue queue;
  QueueItem item = 0;
  std::vector<std::string> clients;
  for (int64_t i = 0; i < state.range(0); ++i) clients.push_back("client " + std::to_string(i));
  for (const std::string& client : clients) queue.push(client, item++);
  for (auto _ : state) {
    const QueueItem next = queue.next().value();
    const std::string& client = clients[next % clients.size()];
    queue.remove(client, next);
    queue.charge(client, {.prompt_tokens = 100, .generated_tokens = 3});
    queue.push(client, next + clients.size());
  }
}
BENCHMARK(fair_queue_turn)->Arg(1)->Arg(64)->Arg(1024);

}  // namespace
}  // namespace kvern::engine

BENCHMARK_MAIN();
