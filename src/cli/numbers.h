// Numbers on the command line: what is wrong with one says its value and what is expected.
#pragma once

#include <cstdint>
#include <limits>

namespace CLI {  // NOLINT(readability-identifier-naming): the name of the library
class Validator;
}

namespace kvern::cli {

/// For CLI::Option::check, before the text is converted.
CLI::Validator whole_number(int64_t least = std::numeric_limits<int32_t>::min(),
                            int64_t most = std::numeric_limits<int32_t>::max());
CLI::Validator decimal_number();
/// From 0 to 2^64 - 1.
CLI::Validator seed_number();

}  // namespace kvern::cli
