// The commands below `kvern kv`, and what they share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "store/disk/disk_store.h"
#include "store/io/block_io.h"

namespace kvern::cli {

// Each adds its commands to `kvern kv`.
void add_kv_list_commands(CLI::App& kv, Command& chosen);      // ls, show, stats
void add_kv_change_commands(CLI::App& kv, Command& chosen);    // rm, pin, unpin, expire, gc, verify, reindex
void add_kv_transfer_commands(CLI::App& kv, Command& chosen);  // export, import

/// A directory of saved state that is open.
struct OpenedStore {
  std::unique_ptr<store::BlockIo> io;
  std::unique_ptr<store::DiskStore> store;

  store::DiskStore* operator->() const { return store.get(); }
};

enum class StoreAccess : uint8_t {
  kRead,    ///< also beside a server, and where nothing can be written
  kChange,  ///< also beside a server
  kCreate,  ///< as kChange; the directory is made if there is none
};

Result<OpenedStore> open_store(Environment& environment, const std::string& directory, StoreAccess access);

/// What all of them are given.
struct KvFlags {
  std::string directory;
  bool json = false;
};

/// A command with DIR and --json. `choose` is called when it is the one.
CLI::App& declare_kv_command(CLI::App& kv, std::pair<const char*, const char*> name_and_help, KvFlags& flags,
                             std::function<void()> choose);

/// A command that runs a function with flags of its own, which have KvFlags as their base.
template <typename Flags>
struct KvCommand {
  const char* name;
  const char* help;
  Result<ExitCode> (*run)(Environment& environment, const Flags& flags);

  CLI::App& add_to(CLI::App& kv, Command& chosen, const std::shared_ptr<Flags>& flags) const {
    return declare_kv_command(kv, {name, help}, *flags, [flags, runner = run, &chosen] {
      chosen = [flags, runner](Environment& environment) { return runner(environment, *flags); };
    });
  }
};

/// The entries of these names or beginnings of names, each once, in their order.
Result<std::vector<store::ListedEntry>> entries_named(store::DiskStore& store,
                                                      std::span<const std::string> names);

json::object entry_json(const store::ListedEntry& entry);
/// "2030-01-01T00:00:00Z".
std::string utc_text(int64_t seconds);

}  // namespace kvern::cli
