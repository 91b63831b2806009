// A directory of saved prefixes as a tier of a loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "base/result.h"
#include "engine/load/engine.h"
#include "engine/tiers/tier_options.h"
#include "store/disk/disk_store.h"
#include "store/tier/disk_tier.h"

namespace kvern::engine {

struct KvDirectoryOptions {
  std::string path;        ///< made if it is not there; its parent is
  uint64_t max_bytes = 0;  ///< what was used least goes first; 0: no limit
  bool read_only = false;  ///< prefixes come from it and are not saved
};

/// Owns the store and the threads that save and restore. Between the loop and the engine in life: after the
/// loop it ends what is being saved, before the engine it must be gone.
class KvDirectory {
 public:
  /// They outlive it.
  struct Parts {
    Files& files;
    const Clock& clock;
    LogSink& log;
  };
  /// kIo, with what can be done about it, where the directory cannot be made or written.
  static Result<std::unique_ptr<KvDirectory>> open(const Parts& parts, const KvDirectoryOptions& options);
  KvDirectory(const KvDirectory&) = delete;
  KvDirectory& operator=(const KvDirectory&) = delete;

  store::DiskStore& store() { return *store_; }
  const std::string& path() const { return options_.path; }
  store::Tier& tier() { return *tier_; }
  /// Makes it the next tier of a loop of this engine.
  Status add_to(TierOptions& options, const Engine& engine);
  /// "12 entries, 3.4 MiB" and the like, for people.
  std::string summary();

 private:
  KvDirectory() = default;

  KvDirectoryOptions options_;
  std::unique_ptr<store::BlockIo> io_;
  std::unique_ptr<store::DiskStore> store_;
  std::unique_ptr<store::DiskTier> tier_;
};

}  // namespace kvern::engine
