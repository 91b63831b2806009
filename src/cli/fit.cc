// kvern fit: the memory that a run will need, before anything is loaded.
#include <algorithm>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/kv_flags.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "engine/load/engine.h"
#include "model/model.h"
#include "state/sequence/kv_cache.h"

namespace kvern::cli {
namespace {

struct FitFlags {
  std::string model;
  int64_t context = 0;
  int64_t rows = 1;
  engine::KvSettings kv;
  bool json = false;
};

uint64_t machine_bytes() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGE_SIZE));
}

uint64_t tensor_bytes(const model::TensorSource& source) {
  uint64_t sum = 0;
  for (const model::StoredTensor& tensor : source.list()) sum += tensor.bytes.size();
  return sum;
}

// The types of all layers, each named once.
std::string types_text(const state::KvOptions& options) {
  std::vector<std::string> names;
  for (const state::KvTypes& types : options.layer_types) {
    const std::string name = to_string(types);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names.empty() ? to_string(options.types) : fmt::format("{}", fmt::join(names, ", "));
}

Result<ExitCode> run(Environment& environment, const FitFlags& flags) {
  install_bus_error_message(flags.model);
  KVERN_TRY(const std::unique_ptr<model::Model> model, model::Model::open(environment.files, flags.model));
  const state::KvSpec spec = model->kv_spec();
  KVERN_TRY(const state::KvOptions options,
            engine::make_kv_options(environment.files, flags.kv, spec.layers.size()));
  KVERN_TRY(const std::unique_ptr<state::KvCache> kv, state::KvCache::create(spec, options));
  const int64_t context = flags.context > 0 ? flags.context : model->config().context;
  const uint64_t weights = tensor_bytes(*model->opened().source);
  uint64_t kv_bytes = 0;
  const size_t row_bytes = kv->peak_bytes({.end = context, .step = engine::EngineOptions{}.chunk_tokens});
  if (__builtin_mul_overflow(row_bytes, static_cast<uint64_t>(flags.rows), &kv_bytes)) {
    return fail(ErrorCode::kInvalidArgument, "so many rows take more bytes than 64 bits can say", "--rows");
  }
  const uint64_t machine = machine_bytes();
  const bool fits = weights + kv_bytes <= machine;
  if (flags.json) {
    KVERN_TRY_STATUS(write_json({{"weights_bytes", weights},
                                 {"kv_bytes", kv_bytes},
                                 {"kv_bytes_per_token", kv->bytes_per_token()},
                                 {"context", context},
                                 {"rows", flags.rows},
                                 {"total_bytes", weights + kv_bytes},
                                 {"machine_bytes", machine},
                                 {"fits", fits}}));
    return ExitCode::kOk;
  }
  KVERN_TRY_STATUS(write_stdout(fmt::format(
      "weights          {:>12}  (mapped from the file)\n"
      "KV per token     {:>12}  ({})\n"
      "KV in all        {:>12}  ({} x {} tokens)\n"
      "together         {:>12}\n"
      "this machine has {:>12}: {}\n",
      human_bytes(weights), human_bytes(kv->bytes_per_token()), types_text(options), human_bytes(kv_bytes),
      flags.rows, context, human_bytes(weights + kv_bytes), human_bytes(machine),
      fits ? "it fits" : "it does not fit; take fewer rows, a shorter context or a smaller KV type")));
  return ExitCode::kOk;
}

}  // namespace

void add_fit(CLI::App& app, Command& chosen) {
  auto flags = std::make_shared<FitFlags>();
  CLI::App& command =
      *app.add_subcommand("fit", "How much memory a model, a context and a number of rows need");
  command.add_option("model", flags->model, "Model: a .gguf file or a Hugging Face folder")
      ->required()
      ->type_name("MODEL");
  command
      .add_option("-c,--ctx,--ctx-size", flags->context,
                  "Tokens of each row; 0 = what the model was made for")
      ->check(whole_number(0, int64_t{1} << 24))
      ->type_name("N");
  command.add_option("--rows", flags->rows, "Rows at the same time")
      ->check(whole_number(1, int64_t{1} << 20))
      ->capture_default_str()
      ->type_name("B");
  add_kv_flags(command, flags->kv);
  command.add_flag("--json", flags->json, "One JSON object");
  command.footer(
      "KV in all is the most that rows take on the way, prompts coming in chunks of 512: with\n"
      "--kv-quant-start that is before, with sliding windows during a step.\n\n"
      "Example:\n  kvern fit model.gguf --ctx 8192 --rows 4");
  command.callback(
      [flags, &chosen] { chosen = [flags](Environment& environment) { return run(environment, *flags); }; });
}

}  // namespace kvern::cli
