// What `kvern --version` prints.
#pragma once

#include <string>

namespace kvern::cli {

/// "kvern 0.1.0 (commit abc…), targets: avx2 avx512 avx512-vnni; this machine runs avx512-vnni".
std::string version_text();

}  // namespace kvern::cli
