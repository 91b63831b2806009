// kvern serve: an HTTP server for one model.
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/config_sources.h"
#include "cli/output.h"
#include "cli/serve_flags.h"
#include "cli/server_process.h"

namespace kvern::cli {
namespace {

constexpr uint64_t kMaxConfigBytes = uint64_t{1} << 20;

/// The file that the command line or KVERN_CONFIG names, and the environment.
Result<ConfigSources> read_sources(Files& files, const ServeFlags& flags) {
  ConfigSources sources{.environment = read_environment(), .path = flags.config_path, .entries = {}};
  const auto variable = sources.environment.find(variable_of("config"));
  if (sources.path.empty() && variable != sources.environment.end()) sources.path = variable->second;
  if (sources.path.empty()) return sources;
  KVERN_TRY(const std::string text, read_file(files, sources.path, kMaxConfigBytes));
  KVERN_TRY(sources.entries, server::parse_config(text, sources.path));
  return sources;
}

Result<ExitCode> serve(Environment& environment, CLI::App& command, const ServeFlags& flags) {
  KVERN_TRY(const ConfigSources sources, read_sources(environment.files, flags));
  KVERN_TRY(const ConfigOrigins origins, apply_sources(command, sources));
  KVERN_TRY_STATUS(check_serve_flags(flags));
  KVERN_TRY_STATUS(check_has_effect(origins));
  if (!flags.check) return run_server(environment, flags);
  KVERN_TRY_STATUS(check_server(environment, flags));
  KVERN_TRY_STATUS(write_stdout(effective_config(command, origins, secret_serve_options())));
  return ExitCode::kOk;
}

}  // namespace

void add_serve(CLI::App& app, Command& chosen) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App& command = *app.add_subcommand("serve", "Serve a model over HTTP (OpenAI's API and others)");
  add_serve_flags(command, *flags);
  command.footer(
      "Every flag is also a variable of the environment and a key of the file: --max-queue is "
      "KVERN_MAX_QUEUE and\n"
      "max-queue = 64. The command line wins over the environment, the environment over the file.\n"
      "SIGTERM or Ctrl-C: running requests end, then the server; a second one: at once. SIGHUP: keys are "
      "read again.\n"
      "Example:\n"
      "  kvern serve -m model.gguf --port 8080");
  command.callback([flags, &command, &chosen] {
    chosen = [flags, &command](Environment& environment) { return serve(environment, command, *flags); };
  });
}

}  // namespace kvern::cli
