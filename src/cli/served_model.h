// What requests and answers call a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/load/engine.h"

namespace kvern::cli {

/// Names that requests say: the aliases if there are any, else the name of the file or folder.
std::vector<std::string> model_names(const std::string& path, const std::vector<std::string>& aliases);

/// Another one for every build and every model: what may change an answer.
std::string system_fingerprint(const engine::Engine& engine);

/// Another one for every model and every way to keep keys and values: whatever changes the tokens of a
/// request, but for the build.
std::string model_identity(const engine::Engine& engine);

/// From the system's source of randomness, for ids and seeds that nobody gave.
uint64_t random_number();

}  // namespace kvern::cli
