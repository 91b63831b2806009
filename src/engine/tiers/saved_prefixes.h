// The saved prefixes of an engine in a directory, by namespace: to be listed, pinned, named, removed and
// moved between machines. Nothing here touches rows in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/mutex.h"
#include "base/result.h"
#include "engine/load/engine.h"
#include "engine/tiers/tier_options.h"
#include "store/disk/disk_store.h"
#include "store/prefix/prefix_space.h"
#include "store/session/session_store.h"
#include "store/transfer/export_entries.h"
#include "store/transfer/import_entries.h"

namespace kvern::engine {

/// What is known of one.
struct SavedPrefix {
  std::string name;  ///< 64 hexadecimal digits
  int64_t tokens = 0;
  int64_t usable_tokens = 0;    ///< less when a file was found damaged
  int64_t minimum_tokens = 0;   ///< to which it can be cut
  uint64_t bytes = 0;           ///< blocks that others share included
  int64_t used_seconds = 0;     ///< since 1970
  int64_t expires_seconds = 0;  ///< likewise; 0: never
  bool pinned = false;
};

/// A name that a client gave to a prefix. The prefix is pinned as long as it has one.
struct SavedSession {
  std::string name;
  int64_t created_seconds = 0;
  std::vector<int32_t> tokens;
  std::optional<SavedPrefix> prefix;  ///< none: it is gone, and would be computed again
};

/// What a namespace has.
struct SavedTotals {
  int64_t prefixes = 0;
  int64_t pinned = 0;
  int64_t tokens = 0;
  uint64_t bytes = 0;  ///< blocks that several share are counted for each
};

using store::ByteSink;
using store::ByteSource;
using store::IncomingReport;

/// Thread-safe; any call may wait for the disk. A namespace is whatever requests give as cache_namespace:
/// none sees, names or changes what is another's. Errors: kNotFound for what is not there, kInvalidArgument
/// for a name that is none, or where the directory is for reading only.
class SavedPrefixes {
 public:
  /// They outlive it; `directory` is where the store is.
  struct Parts {
    store::DiskStore& store;
    Files& files;
    const Clock& clock;
    std::string directory;
  };
  /// Pins what sessions name, of whatever model, should the index have been lost.
  static Result<std::unique_ptr<SavedPrefixes>> create(const Parts& parts, const Engine& engine);

  /// Shorter ones are not saved by themselves.
  int64_t least_tokens() const { return TierOptions{}.least_tokens; }

  /// Most recently used first.
  Result<std::vector<SavedPrefix>> list(const std::string& name_space);
  /// By a name or the beginning of one.
  Result<SavedPrefix> find(const std::string& name_space, std::string_view name);
  Result<SavedTotals> totals(const std::string& name_space);
  Status erase(const std::string& name_space, std::string_view name);
  /// kExhausted where more would be pinned than may be; so are the others that pin.
  Status set_pinned(const std::string& name_space, std::string_view name, bool pinned);
  /// From now on; 0: for ever.
  Status set_seconds_to_live(const std::string& name_space, std::string_view name, int64_t seconds);
  /// The prefix that gives exactly these tokens, whatever follows them.
  Result<std::optional<SavedPrefix>> covering(const std::string& name_space, std::span<const int32_t> tokens);

  static bool is_session_name(std::string_view name) { return store::is_session_name(name); }
  /// Names these tokens, which a prefix must cover, and pins it. A session of that name is replaced.
  Result<SavedSession> save_session(const std::string& name_space, const std::string& name,
                                    std::vector<int32_t> tokens);
  Result<SavedSession> session(const std::string& name_space, const std::string& name);
  Result<std::vector<SavedSession>> sessions(const std::string& name_space);
  /// Lets go of the prefix, too, unless another session has it.
  Status forget_session(const std::string& name_space, const std::string& name);

  /// One prefix as a file (docs/formats/kv-export.md).
  Status export_to(const std::string& name_space, std::string_view name, const ByteSink& sink);
  /// Takes such a file if all of it belongs to this engine and namespace. What cannot be pinned is there
  /// unpinned.
  Result<IncomingReport> import_from(const std::string& name_space, const ByteSource& source, bool pinned);

 private:
  SavedPrefixes(const Parts& parts, store::PrefixIdentity identity, int64_t vocabulary);
  Status pin_sessions();
  store::PrefixSpace space_of(const std::string& name_space) const;
  Result<std::vector<store::ListedEntry>> entries_of(const store::PrefixSpace& space);
  Result<store::ListedEntry> entry_of(const std::string& name_space, std::string_view name);
  Result<std::optional<store::ListedEntry>> covering_entry(const store::PrefixSpace& space,
                                                           std::span<const int32_t> tokens);
  Result<SavedSession> with_prefix(const store::PrefixSpace& space, store::Session session);
  Status unpin(const store::PrefixSpace& space, const store::Session& gone) KVERN_REQUIRES(mutex_);

  const Parts parts_;
  const store::PrefixIdentity identity_;
  const int64_t vocabulary_;
  store::SessionStore sessions_;
  Mutex mutex_;  // of changes to sessions and the pins that go with them
};

}  // namespace kvern::engine
