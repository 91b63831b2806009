// A Redis server that machines share as a tier of a loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "base/result.h"
#include "engine/load/engine.h"
#include "engine/tiers/tier_options.h"
#include "store/remote/remote_store.h"
#include "store/remote/remote_tier.h"

namespace kvern::engine {

struct KvRemoteOptions {
  std::string url;          ///< store::parse_redis_url
  std::string authorities;  ///< a file of certificates that rediss:// trusts; empty: the system's
  std::chrono::milliseconds timeout{100};  ///< of a call, beside what its bytes take
  std::chrono::milliseconds lookup_wait{5};
  std::chrono::milliseconds time_to_live{std::chrono::hours(7 * 24)};  ///< of keys; 0: for ever
};

/// Owns the connections and the threads that use them. Lives as KvDirectory does. That the server cannot be
/// reached is no error: it may come.
class KvRemote {
 public:
  /// They outlive it.
  struct Parts {
    Files& files;
    const Clock& clock;
    LogSink& log;
  };
  /// kInvalidArgument for a URL that is none.
  static Result<std::unique_ptr<KvRemote>> open(const Parts& parts, const KvRemoteOptions& options);
  KvRemote(const KvRemote&) = delete;
  KvRemote& operator=(const KvRemote&) = delete;

  /// As the tier behind those that are there.
  Status add_to(TierOptions& options, const Engine& engine);
  /// The server, without the password.
  std::string name() const { return name_; }

 private:
  KvRemote() = default;

  std::string name_;
  std::unique_ptr<store::RemoteStore> store_;
  std::unique_ptr<store::RemoteTier> tier_;
};

}  // namespace kvern::engine
