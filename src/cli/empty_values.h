// Names that were given and are empty.
#pragma once

#include <string>

#include "base/result.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name of the library
class App;
class Option;
}  // namespace CLI

namespace kvern::cli {

/// An error at `where` for an option whose value names something and is empty.
Status check_not_empty(const CLI::Option& option, const std::string& where);
/// The same for the first option of a parsed command whose value names something (a file, a folder, a model,
/// a server, a fingerprint; by its type in the help) and is empty: whoever writes --api-key-file "$KEYS" and
/// has no KEYS must not be taken for somebody who wants none. Texts may be empty.
Status check_no_empty_names(const CLI::App& command);

}  // namespace kvern::cli
