// kvern batch: a file of requests in OpenAI's batch format, answered without a server.
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/plural.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/served_model.h"
#include "server/batch/batch_job.h"

namespace kvern::cli {
namespace {

constexpr int64_t kMaxRows = 4096;

struct BatchFlags {
  ModelFlags model;
  std::vector<std::string> aliases;
  std::string input;
  std::string output;
  int64_t max_rows = engine::LoopOptions{}.max_rows;
};

std::string summary(const server::BatchCounts& counts) {
  std::string text =
      fmt::format("{} answered, {} of them with an error", counted(counts.done, "request"), counts.failed);
  if (counts.skipped > 0) text += fmt::format("; {} had results already", counts.skipped);
  if (counts.bad_lines > 0) text += fmt::format("; {} could not be used", counted(counts.bad_lines, "line"));
  if (counts.interrupted) text += "; interrupted: the same command goes on from here";
  return text + "\n";
}

ExitCode exit_code(const server::BatchCounts& counts) {
  if (counts.interrupted) return counts.done == 0 ? ExitCode::kInterrupted : ExitCode::kFailed;
  return counts.failed + counts.bad_lines > 0 ? ExitCode::kFailed : ExitCode::kOk;
}

Result<ExitCode> run(Environment& environment, const BatchFlags& flags) {
  KVERN_TRY(server::BatchJob job, server::BatchJob::open(environment.files, flags.input, flags.output));
  if (job.results().repaired())
    write_stderr(fmt::format("{}: removed a last line that was cut off\n", flags.output));
  KVERN_TRY(const std::unique_ptr<engine::Engine> engine, open_engine(environment, flags.model));
  server::BatchModelOptions options{.names = model_names(flags.model.engine.model_path, flags.aliases),
                                    .system_fingerprint = system_fingerprint(*engine),
                                    .loop = {.max_rows = flags.max_rows},
                                    .id_salt = random_number()};
  options.loop.prefix.max_bytes = engine->options().kv_budget_bytes.value_or(0) / 2;

  ProgressLine progress;
  server::BatchEvents events;
  events.is_cancelled = [&] { return environment.interrupted.load(); };
  events.on_progress = [&](const server::BatchCounts& counts) {
    progress.show(fmt::format("{} / {} requests, {} running, {} with an error", counts.done + counts.skipped,
                              job.requests(), counts.open, counts.failed));
  };
  events.on_bad_line = [&](int64_t line, const std::string& message) {
    progress.clear();
    write_stderr(fmt::format("{}:{}: {}\n", flags.input, line, message));
  };
  KVERN_TRY(
      const server::BatchCounts counts,
      job.run({.engine = *engine, .clock = environment.clock, .log = environment.log}, options, events));
  progress.clear();
  write_stderr(summary(counts));
  return exit_code(counts);
}

}  // namespace

void add_batch(CLI::App& app, Command& chosen) {
  auto flags = std::make_shared<BatchFlags>();
  CLI::App& command = *app.add_subcommand("batch", "Answer a file of requests in OpenAI's batch format");
  command.add_option("REQUESTS", flags->input, "Lines of custom_id, method, url and body (JSON)")
      ->required()
      ->type_name("FILE");
  command
      .add_option("-o,--output", flags->output,
                  "Gets a line for each request, in the order in which they are done; results that are there "
                  "already are kept and not computed again")
      ->required()
      ->type_name("FILE");
  add_model_flags(command, flags->model, ModelArgument::kFlag);
  command
      .add_option("-a,--alias", flags->aliases,
                  "What requests call the model; may be repeated [name of the file]")
      ->allow_extra_args(false)
      ->type_name("NAME");
  command
      .add_option("--max-rows,-j,--parallel", flags->max_rows,
                  "Most rows computed together; a request has one for each choice")
      ->check(whole_number(1, kMaxRows))
      ->capture_default_str()
      ->type_name("N");
  command.footer(
      "Exit code 1 when a request has no good answer or a line cannot be read; the others are done all the "
      "same.\n"
      "Ctrl-C keeps what is done; the same command goes on from there.\n"
      "Example:\n"
      "  kvern batch requests.jsonl -o results.jsonl -m model.gguf --alias gpt-4o-mini");
  command.callback(
      [flags, &chosen] { chosen = [flags](Environment& environment) { return run(environment, *flags); }; });
}

}  // namespace kvern::cli
