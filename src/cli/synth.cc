// kvern synth: models of real geometry with random weights.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/generation_flags.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "engine/load/engine.h"
#include "model/synth/presets.h"
#include "model/synth/synthetic_model.h"

namespace kvern::cli {
namespace {

struct SynthFlags {
  model::SynthOptions options;
  std::string type = "q8_0";
};

Result<compute::DType> parse_type(const std::string& name) {
  std::string names;
  for (int i = 0; i < compute::kDTypeCount; ++i) {
    const auto type = static_cast<compute::DType>(i);
    if (type == compute::DType::kAffine4 || type == compute::DType::kAffine8) continue;
    if (compute::traits(type).name == name) return type;
    names += (names.empty() ? "" : ", ") + std::string(compute::traits(type).name);
  }
  return fail(ErrorCode::kInvalidArgument, "no such type; choose one of " + names, name);
}

Result<ExitCode> run(Environment& environment, SynthFlags& flags) {
  flags.options.is_cancelled = [&] { return environment.interrupted.load(); };
  KVERN_TRY(flags.options.type, parse_type(flags.type));
  if (flags.options.threads == 0) flags.options.threads = engine::default_threads();
  ProgressLine progress;
  progress.show("writing " + flags.options.path);
  KVERN_TRY(const model::SynthReport report, model::write_synthetic_model(environment.files, flags.options));
  progress.clear();
  std::string text =
      fmt::format("{}: {}, {:.1f} M parameters, {}\n", flags.options.path, human_bytes(report.bytes),
                  static_cast<double>(report.parameters) / 1e6, flags.type);
  for (const model::SynthFallback& fallback : report.fallbacks) {
    text += fmt::format("  {}: {} instead, since its rows are no multiple of the block\n", fallback.tensor,
                        compute::traits(fallback.used).name);
  }
  KVERN_TRY_STATUS(write_stdout(text));
  return ExitCode::kOk;
}

std::string preset_names() {
  std::string names;
  for (const model::SynthPreset& preset : model::synth_presets())
    names += (names.empty() ? "" : ", ") + std::string(preset.name);
  return names;
}

}  // namespace

void add_synth(CLI::App& app, Command& chosen) {
  auto flags = std::make_shared<SynthFlags>();
  flags->options.threads = 0;
  CLI::App& command = *app.add_subcommand("synth", "Write a model of real geometry with random weights");
  command.add_option("--preset", flags->options.preset, "Geometry: " + preset_names())
      ->required()
      ->type_name("NAME");
  command
      .add_option("--type", flags->type,
                  "Type of every matrix: f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k or q6_k")
      ->capture_default_str()
      ->type_name("TYPE");
  command.add_option("--seed", flags->options.seed, "Seed of the weights")
      ->check(seed_number())
      ->capture_default_str()
      ->type_name("N");
  command.add_option("-t,--threads", flags->options.threads, "Threads; 0 = one for each core")
      ->check(whole_number(0, 1024))
      ->type_name("N");
  command.add_option("-o,--output", flags->options.path, "The file to write")
      ->required()
      ->type_name("FILE.gguf");
  command.footer("Example:\n  kvern synth --preset llama-3.2-1b --type q8_0 -o llama-1b.gguf");
  command.callback(
      [flags, &chosen] { chosen = [flags](Environment& environment) { return run(environment, *flags); }; });
}

}  // namespace kvern::cli
