#include "cli/commands.h"

#include <CLI/CLI.hpp>

namespace kvern::cli {

void register_commands(CLI::App& app, Command& chosen) {
  add_generate(app, chosen);
  add_run(app, chosen);
  add_serve(app, chosen);
  add_batch(app, chosen);
  add_logits(app, chosen);
  add_perplexity(app, chosen);
  add_tokenize(app, chosen);
  add_template(app, chosen);
  add_inspect(app, chosen);
  add_bench(app, chosen);
  add_synth(app, chosen);
  add_fit(app, chosen);
  add_kv(app, chosen);
}

}  // namespace kvern::cli
