// Everything that `kvern serve` can be told.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/config_sources.h"
#include "cli/model_options.h"
#include "cli/serve_log.h"
#include "engine/loop/loop_options.h"
#include "engine/tiers/kv_directory.h"
#include "engine/tiers/kv_remote.h"
#include "server/auth/api_keys.h"
#include "server/http/http_options.h"
#include "server/protocol/context.h"
#include "store/journal/journal.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name of the library
class App;
}

namespace kvern::cli {

/// With a journal, how long a stream goes on without its client.
inline constexpr std::chrono::milliseconds kReconnectFor{60'000};

struct ServeFlags {
  ModelFlags model;
  std::vector<std::string> aliases;
  // Where and how to listen.
  std::vector<std::string> hosts;
  uint16_t port = 8080;
  std::string tls_certificate;
  std::string tls_key;
  server::HttpServerOptions http;
  std::vector<std::string> cors_origins;
  // Who may ask.
  server::ApiKeySources keys;
  bool open_metrics = false;
  // How the model is shared.
  engine::LoopOptions loop;
  std::optional<size_t> prefix_bytes;  ///< none: half of the budget for keys and values
  /// Where prefixes are saved; no path: nowhere.
  engine::KvDirectoryOptions kv{.path = {}, .max_bytes = uint64_t{32} << 30};
  /// And shared with other machines; no URL: nowhere.
  engine::KvRemoteOptions remote;
  server::ProtocolLimits limits;
  std::chrono::milliseconds drain_timeout{30'000};
  // What outlives the process.
  bool no_journal = false;
  store::JournalSync journal_sync = store::JournalSync::kInterval;
  std::optional<std::chrono::milliseconds> reconnect_for;  ///< none: kReconnectFor with a journal, else zero
  bool journals() const { return !kv.path.empty() && !kv.read_only && !no_journal; }
  // What is said.
  ServeLogOptions log;
  bool log_prompts = false;
  std::string config_path;
  bool check = false;
};

/// `flags` outlives the parsing.
void add_serve_flags(CLI::App& command, ServeFlags& flags);

/// Options whose values are never shown.
const std::vector<std::string>& secret_serve_options();

/// What flags say only together: kInvalidArgument names them.
Status check_serve_flags(const ServeFlags& flags);

/// kInvalidArgument for a flag or variable that does nothing without another setting, which is missing.
Status check_has_effect(const ConfigOrigins& origins);

}  // namespace kvern::cli
