#include "cli/signals.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace kvern::cli {
namespace {

// Handlers reach static storage only.
std::atomic<bool> interrupt_flag{false};
char bus_error_text[1024];

sigset_t service_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal_number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal_number);
  return signals;
}

void on_interrupt(int signal_number) {
  if (interrupt_flag.exchange(true)) {
    std::signal(signal_number, SIG_DFL);
    std::raise(signal_number);
  }
}

void on_bus_error(int) {
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, bus_error_text, std::strlen(bus_error_text));
  ::_exit(1);
}

}  // namespace

std::atomic<bool>& install_interrupt_flag() {
  struct sigaction action{};
  action.sa_handler = on_interrupt;  // no SA_RESTART: a blocking read at the prompt returns
  sigaction(SIGINT, &action, nullptr);
  return interrupt_flag;
}

void install_bus_error_message(const std::string& mapped_path) {
  const std::string text =
      "kvern: " + mapped_path +
      ": the file became shorter or unreadable while it was in use; restore it and start again\n";
  std::strncpy(bus_error_text, text.c_str(), sizeof(bus_error_text) - 1);
  struct sigaction action{};
  action.sa_handler = on_bus_error;
  sigaction(SIGBUS, &action, nullptr);
}

void keep_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is given out: this one. Opened for the wrong direction, so that use of it fails.
    if (::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) != descriptor) return;
  }
}

void ignore_broken_pipes() { std::signal(SIGPIPE, SIG_IGN); }

void hold_service_signals() {
  const sigset_t signals = service_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

std::optional<ServiceSignal> wait_for_service_signal(std::chrono::milliseconds timeout) {
  const sigset_t signals = service_signals();
  const timespec time{.tv_sec = timeout.count() / 1000, .tv_nsec = timeout.count() % 1000 * 1'000'000};
  const int received = sigtimedwait(&signals, nullptr, &time);
  if (received < 0) return std::nullopt;
  return received == SIGHUP ? ServiceSignal::kReload : ServiceSignal::kStop;
}

size_t allow_descriptors(size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
  }
  return limit.rlim_cur;
}

}  // namespace kvern::cli
