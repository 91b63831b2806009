// kvern bench: the speed of a model on this machine, and how near that is to what the machine can do.
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/bench_kv.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "compute/probe/machine_probe.h"
#include "engine/measure/measure.h"

namespace kvern::cli {
namespace {

struct BenchFlags {
  ModelFlags model;
  std::vector<std::string> tests = {"prefill:512", "prefill:2048", "decode:0", "decode:2048", "decode:8192",
                                    "batch:1",     "batch:4",      "batch:8",  "batch:16",    "first"};
  engine::MeasureOptions options;
  std::vector<std::string> kv_types;  // of --kv; empty without it
  std::optional<int64_t> kv_context;
  bool json = false;
};

/// The ceiling that a test runs against: bytes for steps, operations for prompts.
struct Share {
  double of_ceiling = 0;
  std::string text;
};

bool is_block_quantized(compute::DType type) {
  return type != compute::DType::kF32 && type != compute::DType::kF16 && type != compute::DType::kBF16;
}

Share share_of(const engine::Measurement& result, const compute::MachineCeilings& ceilings,
               bool int8_weights) {
  const double seconds = result.median_seconds();
  if (result.test.kind != engine::MeasureKind::kPrefill) {
    const double rate = result.bytes / seconds;
    const double share = result.median_read_share();
    return {share, fmt::format("{:.1f} GB/s, {:.0f} % of read", rate / 1e9, share * 100)};
  }
  const double peak = int8_weights ? ceilings.int8_ops_per_second : ceilings.f32_ops_per_second;
  const double rate = result.operations / seconds;
  return {rate / peak, fmt::format("{:.0f} GOPS, {:.0f} % of {}", rate / 1e9, rate / peak * 100,
                                   int8_weights ? "int8" : "f32")};
}

/// Load-to-first-token: opens the model anew and answers a prompt of 8.
Result<double> first_token_seconds(Environment& environment, const BenchFlags& flags) {
  const auto start = environment.clock.now();
  KVERN_TRY(const std::unique_ptr<engine::Engine> engine,
            engine::Engine::open(environment.files, flags.model.engine));
  const std::vector<int32_t> prompt = {1, 2, 3, 4, 5, 6, 7, 8};
  const engine::Engine::RowTokens work{.row = engine->kv().add_row(), .tokens = prompt};
  KVERN_TRY(const auto logits, engine->forward({&work, 1}));
  KVERN_TRY_STATUS(engine->check_logits(logits));
  return std::chrono::duration<double>(environment.clock.now() - start).count();
}

json::object measurement_json(const engine::Measurement& result, const Share& share) {
  return {{"test", engine::to_string(result.test)},
          {"seconds", json::array(result.seconds.begin(), result.seconds.end())},
          {"median_seconds", result.median_seconds()},
          {"tokens_per_second", result.tokens_per_second()},
          {"bytes", result.bytes},
          {"operations", result.operations},
          {"share_of_ceiling", share.of_ceiling}};
}

/// Why a test cannot run on this engine; empty if it can.
std::string obstacle(const engine::Engine& engine, const engine::MeasureTest& test,
                     const engine::MeasureOptions& options) {
  const int64_t needed = engine::longest_row(test, options);
  if (needed <= engine.context_tokens()) return {};
  return fmt::format("skipped: it needs a context of {}, and this is {} (--ctx)", needed,
                     engine.context_tokens());
}

json::object machine_json(engine::Engine& engine, const compute::MachineCeilings& ceilings) {
  return {{"model", engine.options().model_path},
          {"threads", engine.options().threads},
          {"kv_type", engine.options().kv.type},
          {"cpu_target", compute::to_string(engine.compute().target())},
          {"read_bytes_per_second", ceilings.read_bytes_per_second},
          {"int8_ops_per_second", ceilings.int8_ops_per_second},
          {"f32_ops_per_second", ceilings.f32_ops_per_second}};
}

std::string machine_text(engine::Engine& engine, const compute::MachineCeilings& ceilings) {
  return fmt::format(
      "{}, {} threads, {}, KV {}\nceilings: read {:.1f} GB/s ({} streams a thread), int8 {:.0f} GOPS, f32 "
      "{:.0f} GFLOPS\n\n{:<14} {:>12} {:>12}  {}\n",
      engine.options().model_path, engine.options().threads, compute::to_string(engine.compute().target()),
      engine.options().kv.type, ceilings.read_bytes_per_second / 1e9, ceilings.read_streams,
      ceilings.int8_ops_per_second / 1e9, ceilings.f32_ops_per_second / 1e9, "test", "tokens/s", "median ms",
      "share of the ceiling");
}

/// A test's line of the table and its object.
struct Report {
  std::string text;
  json::object object;
};

Result<Report> run_test(engine::Engine& engine, const engine::MeasureTest& test,
                        const engine::MeasureOptions& options, const compute::MachineCeilings& ceilings) {
  const std::string name = engine::to_string(test);
  if (const std::string why = obstacle(engine, test, options); !why.empty())
    return Report{fmt::format("{:<14} {}\n", name, why), {{"test", name}, {"skipped", why}}};
  KVERN_TRY(const engine::Measurement result, engine::measure(engine, test, options));
  const Share share =
      share_of(result, ceilings, is_block_quantized(engine.model().opened().weights.output.type));
  return Report{fmt::format("{:<14} {:>12.2f} {:>12.2f}  {}\n", name, result.tokens_per_second(),
                            result.median_seconds() * 1e3, share.text),
                measurement_json(result, share)};
}

/// --kv: types of keys and values beside each other.
Result<ExitCode> run_kv(Environment& environment, const BenchFlags& flags) {
  engine::KvComparisonOptions options{.types = flags.kv_types,
                                      .context = flags.kv_context,
                                      .repetitions = flags.options.repetitions,
                                      .steps = flags.options.steps};
  return run_bench_kv(environment, flags.model, options, flags.json);
}

Result<ExitCode> run(Environment& environment, const BenchFlags& flags) {
  if (!flags.kv_types.empty()) return run_kv(environment, flags);
  std::vector<engine::MeasureTest> tests;
  bool first = false;
  for (const std::string& name : flags.tests) {
    if (name == "first") {
      first = true;
      continue;
    }
    Result<engine::MeasureTest> test = engine::parse_measure_test(name);
    if (!test) {
      test.error().message += "; 'first' is a test, too";
      return std::unexpected(std::move(test).error());
    }
    tests.push_back(*test);
  }
  const auto print = [&](const std::string& text) { return flags.json ? Status(Ok{}) : write_stdout(text); };
  KVERN_TRY(const std::unique_ptr<engine::Engine> engine, open_engine(environment, flags.model));
  ProgressLine progress;
  progress.show("measuring the machine");
  const compute::MachineCeilings ceilings = compute::probe_machine(engine->compute());
  progress.clear();
  compute::ReadProbe read_probe(engine->compute(), {.streams = ceilings.read_streams});
  engine::MeasureOptions options = flags.options;
  options.read_probe = &read_probe;
  json::object report = machine_json(*engine, ceilings);
  KVERN_TRY_STATUS(print(machine_text(*engine, ceilings)));
  json::array results;
  bool measured = false;
  for (const engine::MeasureTest& test : tests) {
    if (environment.interrupted) return ExitCode::kInterrupted;
    progress.show(engine::to_string(test));
    KVERN_TRY(Report result, run_test(*engine, test, options, ceilings));
    progress.clear();
    KVERN_TRY_STATUS(print(result.text));
    measured = measured || !result.object.contains("skipped");
    results.push_back(std::move(result.object));
  }
  report["results"] = std::move(results);
  if (first) {
    KVERN_TRY(const double seconds, first_token_seconds(environment, flags));
    report["load_to_first_token_seconds"] = seconds;
    KVERN_TRY_STATUS(
        print(fmt::format("{:<14} {:>12} {:>12.2f}  load and a prompt of 8\n", "first", "", seconds * 1e3)));
  }
  if (flags.json) KVERN_TRY_STATUS(write_json(report));
  if (!first && !measured)
    return fail(ErrorCode::kInvalidArgument, "all tests were skipped: none fits the context (--ctx)",
                "--tests");
  return ExitCode::kOk;
}

}  // namespace

void add_bench(CLI::App& app, Command& chosen) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App& command =
      *app.add_subcommand("bench", "Measure speed, also as a share of what the machine can do");
  add_model_flags(command, flags->model, ModelArgument::kPositional);
  CLI::Option* tests =
      command
          .add_option("--tests", flags->tests,
                      "prefill:TOKENS, decode:CONTEXT, batch:ROWS, first (load to first token)")
          ->delimiter(',')
          ->allow_extra_args(false)  // else the model behind it would be taken for another test
          ->capture_default_str()
          ->type_name("LIST");
  CLI::Option* one_type = command.get_option("--kv-type");
  CLI::Option* kv_types = command.add_option(
      "--kv", flags->kv_types,
      "Compare types of keys and values instead of --tests: bytes, error beside f32 and speed at "
      "--kv-context; a list separated by ';', the first being what speeds are compared with; "
      "f32, f16 and bf16 stand as they are beside --kv-keep-first, --kv-keep-last, --kv-quant-start");
  kv_types->delimiter(';')->allow_extra_args(false)->excludes(one_type)->excludes(tests)->type_name("TYPES");
  command
      .add_option(
          "--kv-context", flags->kv_context,
          "Tokens of the row of --kv whose next steps are timed, 0 = none; else 8192, or what --ctx has room "
          "for")
      ->check(whole_number(0, int64_t{1} << 20))
      ->needs(kv_types)
      ->type_name("N");
  command.add_option("--reps", flags->options.repetitions, "Repetitions; medians are reported")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  command.add_option("--steps", flags->options.steps, "Steps in a repetition of decode and batch")
      ->check(whole_number(1, 10000))
      ->capture_default_str();
  command.add_flag("--json", flags->json, "One JSON object");
  command.footer(
      "Examples:\n  kvern bench model.gguf --tests prefill:512,decode:0,batch:8 --reps 7\n"
      "  kvern bench model.gguf --kv 'f16;q8;h4;k=h8,v=q4'");
  command.callback(
      [flags, &chosen] { chosen = [flags](Environment& environment) { return run(environment, *flags); }; });
}

}  // namespace kvern::cli
