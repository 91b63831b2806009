// What `kvern --version` prints.
#pragma once

#include <string>

namespace kvern::cli {

/// "kvern 0.1.0 (commit 0123456789ab)", with "-dirty" behind the commit when files differ from it, the CPU
/// targets, and which of them this machine runs.
std::string version_text();

}  // namespace kvern::cli
