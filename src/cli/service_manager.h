// Telling systemd how the service does (sd_notify(3), the protocol by itself).
#pragma once

#include <string>
#include <utility>

namespace kvern::cli {

/// One thread.
class ServiceManager {
 public:
  /// `socket_path`: the variable NOTIFY_SOCKET; empty: nobody is told anything.
  explicit ServiceManager(std::string socket_path) : socket_path_(std::move(socket_path)) {}
  static ServiceManager from_environment();

  void ready() { send("READY=1"); }
  void stopping() { send("STOPPING=1"); }
  /// "Still well": to be called more often than the unit's WatchdogSec.
  void alive() { send("WATCHDOG=1"); }

 private:
  void send(const std::string& state) const;
  std::string socket_path_;
};

}  // namespace kvern::cli
