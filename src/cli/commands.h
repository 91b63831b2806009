// The commands, each in a file of its own. add_x declares the flags of a subcommand; when it is chosen,
// `chosen` becomes the function that runs it.
#pragma once

#include <functional>

#include "base/result.h"
#include "cli/environment.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name of the library
class App;
}

namespace kvern::cli {

using Command = std::function<Result<ExitCode>(Environment&)>;

void register_commands(CLI::App& app, Command& chosen);

void add_generate(CLI::App& app, Command& chosen);
void add_run(CLI::App& app, Command& chosen);
void add_logits(CLI::App& app, Command& chosen);
void add_perplexity(CLI::App& app, Command& chosen);
void add_tokenize(CLI::App& app, Command& chosen);
void add_template(CLI::App& app, Command& chosen);
void add_inspect(CLI::App& app, Command& chosen);
void add_bench(CLI::App& app, Command& chosen);
void add_synth(CLI::App& app, Command& chosen);
void add_fit(CLI::App& app, Command& chosen);
void add_batch(CLI::App& app, Command& chosen);
void add_serve(CLI::App& app, Command& chosen);
void add_kv(CLI::App& app, Command& chosen);

}  // namespace kvern::cli
