// kvern kv rm, pin, unpin, expire, gc, verify, reindex: what changes a directory of saved state.
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/plural.h"
#include "cli/kv_commands.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/progress_bar.h"
#include "server/config/values.h"

namespace kvern::cli {
namespace {

struct ChangeFlags : KvFlags {
  std::vector<std::string> names;
  int64_t seconds = 0;
  std::string max_bytes;
  bool all = false;
  bool look_only = false;
};

/// Does something to every entry that was named.
template <typename Change>
Result<ExitCode> change_entries(Environment& environment, const ChangeFlags& flags, const char* done,
                                const Change& change) {
  if (flags.all != flags.names.empty()) {
    return fail(ErrorCode::kInvalidArgument, flags.all ? "give names or --all, not both" : "which prefix?",
                "NAME");
  }
  KVERN_TRY(const OpenedStore opened, open_store(environment, flags.directory, StoreAccess::kChange));
  KVERN_TRY(const auto found, flags.all ? opened->list() : entries_named(*opened.store, flags.names));
  ProgressBar bar(environment, done);
  json::array names;
  for (const store::ListedEntry& entry : found) {
    const Status changed = change(*opened.store, entry);
    // Somebody else was quicker.
    const bool gone = !changed && changed.error().code == ErrorCode::kNotFound && flags.all;
    if (!changed && !gone) return std::unexpected(changed.error());
    names.push_back(json::value(entry.manifest.to_string()));
    if (!bar.update(std::ssize(names), std::ssize(found))) break;
  }
  const auto count = std::ssize(names);
  if (flags.json) {
    KVERN_TRY_STATUS(write_json(json::object{{done, std::move(names)}}));
  } else {
    KVERN_TRY_STATUS(write_stdout(fmt::format("{}: {}\n", done, counted(count, "prefix", "prefixes"))));
  }
  return ExitCode::kOk;
}

Result<ExitCode> run_remove(Environment& environment, const ChangeFlags& flags) {
  return change_entries(
      environment, flags, "removed",
      [](store::DiskStore& store, const store::ListedEntry& entry) { return store.erase(entry.manifest); });
}

Result<ExitCode> run_pin(Environment& environment, const ChangeFlags& flags) {
  return change_entries(environment, flags, "pinned",
                        [](store::DiskStore& store, const store::ListedEntry& entry) {
                          return store.set_pinned(entry.manifest, true);
                        });
}

Result<ExitCode> run_unpin(Environment& environment, const ChangeFlags& flags) {
  return change_entries(environment, flags, "unpinned",
                        [](store::DiskStore& store, const store::ListedEntry& entry) {
                          return store.set_pinned(entry.manifest, false);
                        });
}

Result<ExitCode> run_expire(Environment& environment, const ChangeFlags& flags) {
  return change_entries(environment, flags, flags.seconds > 0 ? "expiring" : "kept",
                        [&](store::DiskStore& store, const store::ListedEntry& entry) {
                          return store.set_seconds_to_live(entry.manifest, flags.seconds);
                        });
}

Result<ExitCode> run_collect(Environment& environment, const ChangeFlags& flags) {
  size_t max_bytes = 0;
  if (!flags.max_bytes.empty()) {
    const auto parsed = server::parse_bytes(flags.max_bytes);
    if (!parsed)
      return fail(ErrorCode::kInvalidArgument, "'" + flags.max_bytes + "': " + parsed.error().message,
                  "--max-bytes");
    max_bytes = *parsed;
  }
  KVERN_TRY(const OpenedStore opened, open_store(environment, flags.directory, StoreAccess::kChange));
  KVERN_TRY(const store::DiskStats before, opened->stats());
  if (max_bytes > 0) KVERN_TRY_STATUS(opened->set_max_bytes(max_bytes));
  KVERN_TRY(store::CollectReport report, opened->collect());
  KVERN_TRY(const store::DiskStats after, opened->stats());
  report.evicted = before.totals.entries - after.totals.entries;
  if (flags.json) {
    KVERN_TRY_STATUS(write_json(json::object{{"removed", report.evicted},
                                             {"files_removed", report.files_removed},
                                             {"strangers", report.strangers},
                                             {"bytes", after.totals.bytes}}));
    return ExitCode::kOk;
  }
  std::string text = fmt::format("removed {} and {} that none names; {} left\n",
                                 counted(report.evicted, "prefix", "prefixes"),
                                 counted(report.files_removed, "file"), human_bytes(after.totals.bytes));
  if (report.strangers > 0)
    text += fmt::format("{} not kvern's and stay\n", counted(report.strangers, "file is", "files are"));
  KVERN_TRY_STATUS(write_stdout(text));
  return ExitCode::kOk;
}

Result<ExitCode> run_verify(Environment& environment, const ChangeFlags& flags) {
  KVERN_TRY(
      const OpenedStore opened,
      open_store(environment, flags.directory, flags.look_only ? StoreAccess::kRead : StoreAccess::kChange));
  ProgressBar bar(environment, "verifying");
  KVERN_TRY(const store::VerifyReport report, opened->verify(bar.callback()));
  if (flags.json) {
    json::array problems;
    for (const std::string& problem : report.problems) problems.push_back(json::value(problem));
    KVERN_TRY_STATUS(write_json(json::object{{"entries", report.entries},
                                             {"blocks", report.blocks},
                                             {"bytes", report.bytes},
                                             {"problems", std::move(problems)}}));
  } else {
    std::string text;
    for (const std::string& problem : report.problems) text += problem + "\n";
    text += fmt::format(
        "{} and {} read, {}: {}\n", counted(report.entries, "prefix", "prefixes"),
        counted(report.blocks, "block"), human_bytes(report.bytes),
        report.problems.empty() ? std::string("all good") : counted(std::ssize(report.problems), "problem"));
    KVERN_TRY_STATUS(write_stdout(text));
  }
  if (environment.interrupted) return ExitCode::kInterrupted;
  return report.problems.empty() ? ExitCode::kOk : ExitCode::kFailed;
}

Result<ExitCode> run_reindex(Environment& environment, const ChangeFlags& flags) {
  KVERN_TRY(const OpenedStore opened, open_store(environment, flags.directory, StoreAccess::kChange));
  ProgressBar bar(environment, "reading prefixes");
  // It ends even when the user would stop: half an index is of no use.
  KVERN_TRY(const int64_t entries, opened->reindex([&](int64_t done, int64_t all) {
    static_cast<void>(bar.update(done, all));
    return true;
  }));
  if (flags.json) {
    KVERN_TRY_STATUS(write_json(json::object{{"entries", entries}}));
  } else {
    KVERN_TRY_STATUS(write_stdout(fmt::format("the index has {}\n", counted(entries, "prefix", "prefixes"))));
  }
  return ExitCode::kOk;
}

}  // namespace

void add_kv_change_commands(CLI::App& kv, Command& chosen) {
  using ChangeCommand = KvCommand<ChangeFlags>;
  const auto with_names = [&](const ChangeCommand& declared) {
    const auto flags = std::make_shared<ChangeFlags>();
    CLI::App& command = declared.add_to(kv, chosen, flags);
    command.add_option("names", flags->names, "Prefixes")->type_name("NAME...");
    command.add_flag("--all", flags->all, "All prefixes");
    return std::pair<CLI::App*, std::shared_ptr<ChangeFlags>>(&command, flags);
  };
  with_names({"rm", "Remove prefixes", run_remove});
  with_names({"pin", "Keep prefixes, whatever room is needed", run_pin});
  with_names({"unpin", "Let prefixes go when room is needed", run_unpin});
  const auto [expire, expire_flags] = with_names({"expire", "Let prefixes go after some time", run_expire});
  expire->add_option("--after", expire_flags->seconds, "Seconds from now; 0 = never")
      ->required()
      ->check(whole_number(0, int64_t{1} << 40))
      ->type_name("N");
  const auto collect = std::make_shared<ChangeFlags>();
  ChangeCommand{"gc", "Remove what has expired and files that nothing names", run_collect}
      .add_to(kv, chosen, collect)
      .add_option("--max-bytes", collect->max_bytes,
                  "Also the prefixes used the longest time ago, down to this")
      ->type_name("BYTES");
  const auto verify = std::make_shared<ChangeFlags>();
  ChangeCommand{"verify", "Read everything; what is damaged goes into DIR/quarantine", run_verify}
      .add_to(kv, chosen, verify)
      .add_flag("--look-only", verify->look_only, "Only say what is damaged");
  ChangeCommand{"reindex", "Make the index again from the prefixes themselves", run_reindex}.add_to(
      kv, chosen, std::make_shared<ChangeFlags>());
}

}  // namespace kvern::cli
