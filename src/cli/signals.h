// Signal handlers and standard descriptors of the process. Only the command line touches them.
#pragma once

#include <atomic>
#include <string>

namespace kvern::cli {

/// First Ctrl-C: sets the flag, and the running generation stops at the next token. Second: the default
/// action. The flag is cleared by whoever handled the interruption.
std::atomic<bool>& install_interrupt_flag();

/// A mapped model file that is cut while in use raises SIGBUS at the next touch. Says so with the file's name
/// and exits with code 1, instead of dying without a word.
void install_bus_error_message(const std::string& mapped_path);

/// Occupies those of the descriptors 0, 1 and 2 that the caller left closed, so that no file which is opened
/// later becomes standard output. Reading or writing them stays an error.
void keep_standard_descriptors();

/// Writing to a closed pipe becomes an ordinary write error.
void ignore_broken_pipes();

}  // namespace kvern::cli
