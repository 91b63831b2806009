// Flags that may also be set by the environment and by a file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "server/config/config_file.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name of the library
class App;
}

namespace kvern::cli {

/// Where the values of a command's options may come from, beside the command line.
struct ConfigSources {
  std::map<std::string, std::string> environment;  ///< those that begin with KVERN_
  std::string path;                                ///< of the file, or empty
  std::vector<server::ConfigEntry> entries;        ///< what it holds
};

/// The process's variables that begin with KVERN_.
std::map<std::string, std::string> read_environment();

/// "KVERN_MAX_QUEUE" of "max-queue".
std::string variable_of(const std::string& flag);

/// What came from where: the option's first long name and "flag", "KVERN_..." or "file:line".
using ConfigOrigins = std::map<std::string, std::string>;

/// Gives values to the options that the command line left alone: from the environment, else from the file.
/// The values are checked as those of flags are; several values are separated by commas in the environment.
/// Errors name the variable, or file and line: a value that the option does not take, a key that is no
/// option. Call it when the command line has been parsed.
Result<ConfigOrigins> apply_sources(CLI::App& command, const ConfigSources& sources);

/// All options with their values in force, as a file that --config reads back; values of `secret` options are
/// counted and not shown.
std::string effective_config(const CLI::App& command, const ConfigOrigins& origins,
                             const std::vector<std::string>& secret);

}  // namespace kvern::cli
