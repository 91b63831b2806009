// What saved prefixes are worth, and what saving them costs, on a real model.
//
//   restart_bench first MODEL DIRECTORY [--kv-type T] [--tokens N]
//   restart_bench decode MODEL DIRECTORY [--kv-type T] [--tokens N]
//
// first: computes a prompt (with --fill: makes one up), saves it, starts again with the page cache dropped
// and asks for the same prompt: time to the first token beside what the disk takes for as many bytes, and
// beside the computation. decode: tokens/s of one row while an entry of N tokens is written, beside the same
// without. Writes some hundred MiB below DIRECTORY and removes them again.
#include "disk_measure.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/loop/batch.h"
#include "engine/measure/decode_row.h"
#include "engine/tiers/kv_directory.h"
#include "store/row/saved_row.h"

namespace kvern::engine {
namespace {

using Seconds = std::chrono::duration<double>;

struct Settings {
  std::string model;
  std::string directory;
  std::string kv_type = "f16";
  int64_t tokens = 8192;
  int rounds = 5;
  bool fill = false;
};

template <typename T>
T or_stop(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "restart_bench: {}\n", result.error().to_string());
  std::exit(1);
}
void or_stop(const Status& status) {
  if (status) return;
  fmt::print(stderr, "restart_bench: {}\n", status.error().to_string());
  std::exit(1);
}

class TokenTimes final : public GenerationSink {
 public:
  void on_token(TokenEvent event) override {
    static_cast<void>(event);
    at_.push_back(std::chrono::steady_clock::now());
  }
  void on_choice_end(ChoiceEnd end) override { static_cast<void>(end); }
  void on_end(const RequestEnd& end) override { cached = end.cached_tokens; }
  void on_error(const Error& error) override { or_stop(std::unexpected(error)); }

  double first(std::chrono::steady_clock::time_point begin) const { return Seconds(at_[0] - begin).count(); }
  double second() const { return Seconds(at_[1] - at_[0]).count(); }
  int64_t cached = 0;

 private:
  std::vector<std::chrono::steady_clock::time_point> at_;
};

struct Asked {
  double first_token = 0;
  double decode_step = 0;
  int64_t cached = 0;
};

/// A row of random keys and values.
state::RowId fill_row(Engine& engine, int64_t tokens) {
  state::KvCache& kv = engine.kv();
  const state::RowId row = kv.add_row();
  const state::RowAppend append[] = {{row, tokens}};
  auto step = or_stop(kv.begin(append));
  std::mt19937 random(5);
  for (size_t l = 0; l < kv.spec().layers.size(); ++l) {
    const state::KvLayerSpec& layer = kv.spec().layers[l];
    std::vector<float> numbers(
        static_cast<size_t>(tokens * layer.kv_heads * std::max(layer.k_dim, layer.v_dim)));
    for (float& x : numbers) x = static_cast<float>(static_cast<int32_t>(random())) * 1e-9F;
    kv.append(engine.compute(), static_cast<state::LayerIndex>(l), step,
              {.k = numbers.data(), .v = numbers.data()});
  }
  kv.commit(std::move(step));
  return row;
}

/// A process, as far as this counts. Members are destroyed from the last to the first.
class Process {
 public:
  explicit Process(const Settings& settings) {
    EngineOptions options{.model_path = settings.model, .context_tokens = settings.tokens + 64};
    options.kv.type = settings.kv_type;
    options.kv_budget_bytes = 0;
    engine_ = or_stop(Engine::open(*files_, options));
    kv_ = or_stop(KvDirectory::open({.files = *files_, .clock = *clock_, .log = null_log()},
                                    {.path = settings.directory + "/kv"}));
    LoopOptions loop;
    loop.prefix.max_bytes = size_t{8} << 30;
    or_stop(kv_->add_to(loop.tiers, *engine_));
    batch_ = std::make_unique<Batch>(*engine_, *clock_, loop);
    // The first step touches the model's pages; that is not asked for here.
    ask(random_tokens(8, 1000));
  }

  Asked ask(std::vector<int32_t> prompt) {
    const auto sink = std::make_shared<TokenTimes>();
    ServiceRequest request;
    request.generate.prompt = std::move(prompt);
    request.generate.max_new_tokens = 3;
    request.generate.ignore_end_tokens = true;
    request.generate.sampling.temperature = 0;
    const auto begin = std::chrono::steady_clock::now();
    or_stop(batch_->submit(std::move(request), sink));
    while (!batch_->idle()) batch_->step();
    return {.first_token = sink->first(begin), .decode_step = sink->second(), .cached = sink->cached};
  }
  /// Saves a row of random numbers as if it had been computed.
  void fill(const std::vector<int32_t>& tokens) {
    const auto space = std::make_shared<const store::PrefixSpace>(
        store::make_prefix_space(or_stop(prefix_identity(*engine_))));
    const state::RowId row = fill_row(*engine_, std::ssize(tokens));
    KVERN_CHECK(kv_->tier().offer(or_stop(store::entry_of_row(engine_->kv(), row, space, tokens))));
    or_stop(engine_->kv().remove_row(row));
  }
  FlushReport flush() { return batch_->flush(std::chrono::steady_clock::now() + std::chrono::minutes(2)); }
  Engine& engine() { return *engine_; }

 private:
  std::unique_ptr<Files> files_ = make_posix_files();
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<KvDirectory> kv_;
  std::unique_ptr<Batch> batch_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void measure_first_token(const Settings& settings) {
  const std::string folder = settings.directory + "/kv";
  std::vector<int32_t> prompt;
  double computed = 0;
  double bytes = 0;
  {
    Process process(settings);
    prompt = random_tokens(settings.tokens, process.engine().model().config().vocab);
    if (settings.fill) {
      process.fill(prompt);
    } else {
      computed = process.ask(prompt).first_token;
    }
    bytes = static_cast<double>(process.engine().kv().projected_bytes(settings.tokens));
    const double saved = bench::seconds([&] { KVERN_CHECK(process.flush().durable); });
    fmt::print("{}: {} tokens, {:.0f} MB; computed in {:.2f} s, saved in {:.2f} s\n", settings.kv_type,
               settings.tokens, bytes / 1e6, computed, saved);
  }
  // The disk's own rate moves within seconds, so both are asked in turns.
  bench::RateFile file(settings.directory, static_cast<size_t>(bytes) / 4096 * 4096);
  std::vector<double> rates, firsts, steps;
  for (int round = 0; round < settings.rounds; ++round) {
    Process process(settings);
    bench::drop_cache(folder + "/blocks");
    bench::drop_cache(folder + "/manifests");
    const Asked asked = process.ask(prompt);
    KVERN_CHECK(asked.cached == settings.tokens - 1);
    firsts.push_back(asked.first_token);
    steps.push_back(asked.decode_step);
    rates.push_back(file.rate());
    fmt::print("first token after {:.0f} ms, then {:.0f} ms for a step; disk {:.2f} GB/s = {:.0f} ms\n",
               firsts.back() * 1e3, steps.back() * 1e3, rates.back(), bytes / rates.back() / 1e6);
  }
  const double reading = bytes / 1e9 / median(rates);
  const double first = median(firsts);
  const double step = median(steps);
  fmt::print(
      "medians: first token {:.0f} ms = {:.2f} x {:.0f} ms that the disk takes + a step of {:.0f} ms\n",
      first * 1e3, (first - step) / reading, reading * 1e3, step * 1e3);
  if (computed > 0) fmt::print("{:.0f} times as fast as computing\n", computed / first);
  std::filesystem::remove_all(folder);
}

/// Single steps while `goes_on` says so.
std::vector<double> steps(DecodeRows& rows, const std::function<bool(size_t)>& goes_on) {
  std::vector<double> seconds;
  while (goes_on(seconds.size())) seconds.push_back(or_stop(rows.step_seconds(1)));
  return seconds;
}

void measure_decode(const Settings& settings) {
  const auto files = make_posix_files();
  const auto clock = make_system_clock();
  EngineOptions options{.model_path = settings.model, .context_tokens = settings.tokens + 64};
  options.kv.type = settings.kv_type;
  options.kv_budget_bytes = 0;
  const auto engine = or_stop(Engine::open(*files, options));
  const auto identity =
      std::make_shared<const store::PrefixSpace>(store::make_prefix_space(or_stop(prefix_identity(*engine))));
  const state::RowId row = fill_row(*engine, settings.tokens);
  const auto tokens = random_tokens(settings.tokens, 1000);
  {
    DecodeRows rows = or_stop(DecodeRows::make(*engine, 1, 512));
    or_stop(rows.step_seconds(4));
    for (int round = 0; round < settings.rounds; ++round) {
      const std::string folder = settings.directory + "/kv";
      const auto kv =
          or_stop(KvDirectory::open({.files = *files, .clock = *clock, .log = null_log()}, {.path = folder}));
      kv->tier().set_busy(true);
      const auto some = [](size_t done) { return done < 24; };
      std::vector<double> without = steps(rows, some);
      const double offer = bench::seconds([&] {
        KVERN_CHECK(kv->tier().offer(or_stop(store::entry_of_row(engine->kv(), row, identity, tokens))));
      });
      const auto begin = std::chrono::steady_clock::now();
      const std::vector<double> with = steps(rows, [&](size_t) { return kv->tier().stats().pending > 0; });
      const double saving = Seconds(std::chrono::steady_clock::now() - begin).count();
      for (const double one : steps(rows, some)) without.push_back(one);
      fmt::print(
          "{}: offered in {:.3f} ms; {:.0f} MB saved in {:.1f} s beside {} steps of {:.2f} ms (mean {:.2f}); "
          "without {:.2f} ms (mean {:.2f}): {:.1f} % of the speed, by means {:.1f} %\n",
          settings.kv_type, offer * 1e3, static_cast<double>(kv->tier().stats().bytes_written) / 1e6, saving,
          with.size(), median(with) * 1e3, mean(with) * 1e3, median(without) * 1e3, mean(without) * 1e3,
          median(without) / median(with) * 100, mean(without) / mean(with) * 100);
      std::filesystem::remove_all(folder);
    }
  }
  or_stop(engine->kv().remove_row(row));
}

}  // namespace
}  // namespace kvern::engine

int main(int argc, char** argv) {
  kvern::engine::Settings settings;
  CLI::App app("Saved prefixes on a real model");
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* help) {
    CLI::App& command = *app.add_subcommand(name, help);
    command.add_option("model", settings.model)->required();
    command.add_option("directory", settings.directory)->required();
    command.add_option("--kv-type", settings.kv_type);
    command.add_option("--tokens", settings.tokens);
    command.add_option("--rounds", settings.rounds);
    command.add_flag("--fill", settings.fill, "Random keys and values instead of computing them");
    return &command;
  };
  const CLI::App* first = add("first", "Time to the first token after a restart");
  add("decode", "Decoding while an entry is written");
  CLI11_PARSE(app, argc, argv);
  if (first->parsed()) {
    kvern::engine::measure_first_token(settings);
  } else {
    kvern::engine::measure_decode(settings);
  }
  return 0;
}
