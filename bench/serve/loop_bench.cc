// Requests by a script through the loop, in this process and without HTTP: what serve_bench.py compares the
// server with.
//
//   loop_bench MODEL --script FILE
//
// Each line of the script is a request: "client arrival new_tokens id,id,...". A client's requests run one
// after another, none before its arrival (seconds). Greedy; end tokens are tokens like others. Prints
// {"requests": [{"client", "start", "times": [...]}, ...]}: when each was submitted and when each of its
// tokens came, in seconds since the start.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/clock.h"
#include "base/files.h"
#include "engine/load/engine.h"
#include "engine/loop/engine_loop.h"

namespace kvern::engine {
namespace {

using Seconds = std::chrono::duration<double>;

struct Options {
  std::string model;
  std::string script;
  EngineOptions engine;
  LoopOptions loop;
};

struct ScriptRequest {
  int client = 0;
  double arrival = 0;
  int64_t new_tokens = 0;
  std::vector<TokenId> prompt;
};

struct Outcome {
  int client = 0;
  double start = 0;
  std::vector<double> times;
};

[[noreturn]] void stop(const std::string& message) {
  std::fprintf(stderr, "loop_bench: %s\n", message.c_str());
  std::exit(1);
}

/// By client, in the script's order.
std::map<int, std::vector<ScriptRequest>> read_script(const std::string& path) {
  std::ifstream file(path);
  if (!file) stop("cannot read " + path);
  std::map<int, std::vector<ScriptRequest>> clients;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    ScriptRequest request;
    std::string ids;
    if (!(fields >> request.client >> request.arrival >> request.new_tokens >> ids))
      stop("a line is wrong: " + line);
    std::istringstream list(ids);
    for (std::string id; std::getline(list, id, ',');) request.prompt.push_back(std::stoi(id));
    clients[request.client].push_back(std::move(request));
  }
  return clients;
}

class Watch {
 public:
  double seconds() const { return Seconds(std::chrono::steady_clock::now() - start_).count(); }
  void sleep_until(double seconds) const {
    std::this_thread::sleep_until(
        start_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(Seconds(seconds)));
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Notes when tokens come. Written on the loop's thread until the future is ready.
class Recorder final : public GenerationSink {
 public:
  explicit Recorder(const Watch& watch) : watch_(watch) {}
  void on_token(TokenEvent event) override {
    static_cast<void>(event);
    times_.push_back(watch_.seconds());
  }
  void on_choice_end(ChoiceEnd end) override { static_cast<void>(end); }
  void on_end(const RequestEnd& end) override {
    static_cast<void>(end);
    ended_.set_value(std::nullopt);
  }
  void on_error(const Error& error) override { ended_.set_value(error); }

  std::vector<double> wait() {
    if (const std::optional<Error> error = ended_.get_future().get()) stop(error->to_string());
    return std::move(times_);
  }

 private:
  const Watch& watch_;
  std::vector<double> times_;
  std::promise<std::optional<Error>> ended_;
};

Outcome run_request(EngineLoop& loop, const Watch& watch, const ScriptRequest& asked) {
  watch.sleep_until(asked.arrival);
  ServiceRequest request;
  request.generate.prompt = asked.prompt;
  request.generate.max_new_tokens = asked.new_tokens;
  request.generate.ignore_end_tokens = true;
  request.generate.sampling.temperature = 0;
  request.client = std::to_string(asked.client);
  const auto recorder = std::make_shared<Recorder>(watch);
  Outcome outcome{.client = asked.client, .start = watch.seconds(), .times = {}};
  const auto ticket = loop.submit(std::move(request), recorder);
  if (!ticket) stop(ticket.error().to_string());
  outcome.times = recorder->wait();
  return outcome;
}

std::vector<Outcome> run(EngineLoop& loop, const std::map<int, std::vector<ScriptRequest>>& clients) {
  const Watch watch;
  std::vector<std::future<std::vector<Outcome>>> running;
  for (const auto& [client, requests] : clients) {
    running.push_back(std::async(std::launch::async, [&loop, &watch, &requests] {
      std::vector<Outcome> outcomes;
      for (const ScriptRequest& request : requests) outcomes.push_back(run_request(loop, watch, request));
      return outcomes;
    }));
  }
  std::vector<Outcome> all;
  for (auto& client : running)
    for (Outcome& outcome : client.get()) all.push_back(std::move(outcome));
  return all;
}

void print(const std::vector<Outcome>& outcomes) {
  std::printf("{\"requests\":[");
  for (size_t i = 0; i < outcomes.size(); ++i) {
    std::printf("%s{\"client\":%d,\"start\":%.6f,\"times\":[", i == 0 ? "" : ",", outcomes[i].client,
                outcomes[i].start);
    for (size_t t = 0; t < outcomes[i].times.size(); ++t)
      std::printf("%s%.6f", t == 0 ? "" : ",", outcomes[i].times[t]);
    std::printf("]}");
  }
  std::printf("]}\n");
}

}  // namespace
}  // namespace kvern::engine

int main(int argc, char** argv) {
  using namespace kvern::engine;
  Options options;
  CLI::App app("The engine's loop on a script of requests");
  app.add_option("model", options.engine.model_path)->required();
  app.add_option("--script", options.script)->required();
  app.add_option("--threads", options.engine.threads);
  app.add_option("--step-tokens", options.loop.mixed_tokens);
  app.add_option("--max-rows", options.loop.max_rows);
  CLI11_PARSE(app, argc, argv);
  const auto clients = read_script(options.script);
  const auto files = kvern::make_posix_files();
  const auto clock = kvern::make_system_clock();
  auto engine = Engine::open(*files, options.engine);
  if (!engine) stop(engine.error().to_string());
  // As the server does when it is not told.
  options.loop.prefix.max_bytes = (*engine)->options().kv_budget_bytes.value_or(0) / 2;
  EngineLoop loop(**engine, *clock, options.loop);
  print(run(loop, clients));
  return 0;
}
