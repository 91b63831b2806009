// Text that a command is given: files, pipes, standard input.
#pragma once

#include <cstdint>
#include <string>

#include "base/files.h"
#include "base/result.h"

namespace kvern::cli {

/// All of a file; "-" is standard input, and pipes and devices are read to their end. kInvalidArgument for
/// more than the limit, an empty path, a folder; kNotFound, kIo.
Result<std::string> read_input(Files& files, const std::string& path, uint64_t limit_bytes);

}  // namespace kvern::cli
