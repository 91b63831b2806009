// Signal handlers and standard descriptors of the process. Only the command line touches them.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
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

/// What a service is told by signals.
enum class ServiceSignal {
  kStop,    ///< SIGTERM, SIGINT
  kReload,  ///< SIGHUP
};

/// From now on these signals are only waited for, in threads that are started later, too. To be called before
/// any is.
void hold_service_signals();
/// The next one, held back or to come; nothing when none came in time.
std::optional<ServiceSignal> wait_for_service_signal(std::chrono::milliseconds timeout);

/// Raises the limit on open descriptors towards `wanted`, as far as this process may; the limit then in
/// force.
size_t allow_descriptors(size_t wanted);

}  // namespace kvern::cli
