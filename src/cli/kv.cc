// kvern kv: looks after a directory of saved state. The commands are in kv_list.cc, kv_change.cc and
// kv_transfer.cc; here is what they share.
#include <algorithm>
#include <ctime>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/kv_commands.h"
#include "store/disk/entry_names.h"

namespace kvern::cli {
namespace {

constexpr const char* kFooter =
    "DIR is what `kvern serve --kv-dir` was given; a server may be at work on it. A NAME is the beginning of "
    "a\n"
    "name that `kvern kv ls` shows, as long as it takes to tell it from others.\n"
    "\n"
    "Examples:\n"
    "  kvern kv ls ~/.cache/kvern\n"
    "  kvern kv show ~/.cache/kvern 3fa9 -m model.gguf\n"
    "  kvern kv export ~/.cache/kvern 3fa9 -o prefix.kvx\n"
    "  kvern kv import /srv/kvern prefix.kvx -m model.gguf";

}  // namespace

Result<OpenedStore> open_store(Environment& environment, const std::string& directory, StoreAccess access) {
  OpenedStore opened{.io = store::make_block_io(environment.files), .store = nullptr};
  auto store = store::DiskStore::open({environment.files, *opened.io, environment.clock, environment.log},
                                      {.directory = directory,
                                       .read_only = access == StoreAccess::kRead,
                                       .create = access == StoreAccess::kCreate});
  if (!store) {
    Error error = std::move(store).error();
    if (access != StoreAccess::kRead && error.code == ErrorCode::kIo)
      error.message += "; this command changes the directory (ls, show, stats and export only read)";
    return std::unexpected(std::move(error));
  }
  opened.store = *std::move(store);
  return opened;
}

CLI::App& declare_kv_command(CLI::App& kv, std::pair<const char*, const char*> name_and_help, KvFlags& flags,
                             std::function<void()> choose) {
  CLI::App& command = *kv.add_subcommand(name_and_help.first, name_and_help.second);
  command.add_option("dir", flags.directory, "A directory of saved state")->required()->type_name("DIR");
  command.add_flag("--json", flags.json, "One JSON object");
  command.callback(std::move(choose));
  return command;
}

Result<std::vector<store::ListedEntry>> entries_named(store::DiskStore& store,
                                                      std::span<const std::string> names) {
  KVERN_TRY(const auto entries, store.list());
  std::vector<store::ListedEntry> found;
  for (const std::string& name : names) {
    KVERN_TRY(const store::ListedEntry entry, store::entry_named(entries, name));
    if (std::ranges::find(found, entry.manifest, &store::ListedEntry::manifest) == found.end())
      found.push_back(entry);
  }
  return found;
}

std::string utc_text(int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (::gmtime_r(&time, &parts) == nullptr) return "?";
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", parts);
}

json::object entry_json(const store::ListedEntry& entry) {
  json::object object{{"name", entry.manifest.to_string()},
                      {"tokens", entry.length},
                      {"usable_tokens", entry.usable},
                      {"minimum_tokens", entry.minimum},
                      {"bytes", entry.bytes},
                      {"used", utc_text(entry.used)},
                      {"pinned", entry.pinned},
                      {"extras", entry.extras},
                      {"model", entry.model.to_string()}};
  object["expires"] = entry.expires > 0 ? json::value(utc_text(entry.expires)) : json::value(nullptr);
  return object;
}

void add_kv(CLI::App& app, Command& chosen) {
  CLI::App& kv = *app.add_subcommand("kv", "Look after a directory of saved state");
  kv.require_subcommand(1);
  kv.footer(kFooter);
  add_kv_list_commands(kv, chosen);
  add_kv_change_commands(kv, chosen);
  add_kv_transfer_commands(kv, chosen);
}

}  // namespace kvern::cli
