// One run of the server: from the settings to the exit code.
#pragma once

#include "cli/environment.h"
#include "cli/serve_flags.h"

namespace kvern::cli {

/// Opens everything that the settings name (keys, certificate, addresses, model) and serves nothing.
Status check_server(Environment& environment, const ServeFlags& flags);

/// Serves until a signal says otherwise. The port is open before the model is loaded.
Result<ExitCode> run_server(Environment& environment, const ServeFlags& flags);

}  // namespace kvern::cli
