// kvern kv export, import: prefixes as one file.
#include <cstdio>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/plural.h"
#include "cli/kv_commands.h"
#include "cli/output.h"
#include "cli/progress_bar.h"
#include "model/fingerprint.h"
#include "model/model.h"
#include "store/transfer/export_entries.h"
#include "store/transfer/import_entries.h"

namespace kvern::cli {
namespace {

constexpr const char* kPipe = "-";

struct TransferFlags : KvFlags {
  std::vector<std::string> names;
  std::string file;
  std::string model;
  std::string fingerprint;
  bool all = false;
  bool pin = false;
};

Status write_report(const TransferFlags& flags, json::object report, const std::string& text) {
  // What was exported may be on stdout.
  if (flags.file == kPipe) return Ok{};
  return flags.json ? write_json(report) : write_stdout(text);
}

Result<store::TransferReport> export_to_file(Environment& environment, const TransferFlags& flags,
                                             store::DiskStore& store,
                                             std::span<const store::ContentName> names) {
  ProgressBar bar(environment, "exporting");
  const auto held = store.hold();
  if (flags.file == kPipe) {
    return store::export_entries(
        store, names,
        [](std::span<const std::byte> bytes) {
          return write_stdout({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        },
        bar.callback());
  }
  KVERN_TRY(AtomicFile file, AtomicFile::create(environment.files, flags.file));
  KVERN_TRY(const store::TransferReport report,
            store::export_entries(
                store, names, [&](std::span<const std::byte> bytes) { return file.append(bytes); },
                bar.callback()));
  KVERN_TRY_STATUS(file.commit());
  return report;
}

Result<ExitCode> run_export(Environment& environment, const TransferFlags& flags) {
  if (flags.all != flags.names.empty()) {
    return fail(ErrorCode::kInvalidArgument, flags.all ? "give names or --all, not both" : "which prefix?",
                "NAME");
  }
  if (flags.file == kPipe && stdout_is_terminal())
    return fail(ErrorCode::kInvalidArgument, "a terminal is no place for it; give a file", "--output");
  KVERN_TRY(const OpenedStore opened, open_store(environment, flags.directory, StoreAccess::kRead));
  KVERN_TRY(const auto entries, flags.all ? opened->list() : entries_named(*opened.store, flags.names));
  std::vector<store::ContentName> names;
  names.reserve(entries.size());
  for (const store::ListedEntry& entry : entries) names.push_back(entry.manifest);
  KVERN_TRY(const store::TransferReport report, export_to_file(environment, flags, *opened.store, names));
  KVERN_TRY_STATUS(write_report(
      flags, {{"entries", report.entries}, {"blocks", report.blocks}, {"bytes", report.bytes}},
      fmt::format("{}: {} in {}, {}\n", flags.file, counted(report.entries, "prefix", "prefixes"),
                  counted(report.blocks, "block"), human_bytes(report.bytes))));
  return ExitCode::kOk;
}

/// Whose prefixes are to be imported, as far as that was asked for.
Result<store::ImportOptions> import_options(Environment& environment, const TransferFlags& flags) {
  store::ImportOptions options{.pinned = flags.pin};
  if (!flags.fingerprint.empty()) {
    const auto digits = store::parse_content_name(flags.fingerprint);
    if (!digits) {
      return fail(ErrorCode::kInvalidArgument,
                  "a fingerprint has 64 hexadecimal digits; `kvern inspect` shows that of a model",
                  "--fingerprint");
    }
    options.model = ModelFingerprint{digits->digest};
  }
  if (flags.model.empty()) return options;
  KVERN_TRY(const std::unique_ptr<model::Model> model, model::Model::open(environment.files, flags.model));
  KVERN_TRY(options.model, model::sampled_fingerprint(*model->opened().source, model->config()));
  options.vocabulary = model->config().vocab;
  return options;
}

store::ByteSource stdin_source() {
  return [](std::span<std::byte> out) -> Status {
    if (std::fread(out.data(), 1, out.size(), stdin) == out.size()) return Ok{};
    return fail(ErrorCode::kCorrupt, "the file of exported prefixes is cut off", "standard input");
  };
}

store::ByteSource file_source(const File& file, uint64_t size, const std::string& path) {
  return [&file, size, path, at = uint64_t{0}](std::span<std::byte> out) mutable -> Status {
    if (out.size() > size - at)
      return fail(ErrorCode::kCorrupt, "the file of exported prefixes is cut off", path);
    KVERN_TRY_STATUS(file.read_at(at, out));
    at += out.size();
    return Ok{};
  };
}

Result<store::IncomingReport> import_file(Environment& environment, const TransferFlags& flags,
                                          store::DiskStore& store) {
  KVERN_TRY(const store::ImportOptions options, import_options(environment, flags));
  ProgressBar bar(environment, "importing");
  if (flags.file == kPipe) return store::import_entries(store, stdin_source(), options, bar.callback());
  KVERN_TRY(const auto file, environment.files.open(flags.file, OpenMode::kRead));
  KVERN_TRY(const uint64_t size, file->size());
  auto report = store::import_entries(store, file_source(*file, size, flags.file), options, bar.callback());
  if (!report && report.error().where.empty()) report.error().where = flags.file;
  return report;
}

Result<ExitCode> run_import(Environment& environment, const TransferFlags& flags) {
  KVERN_TRY(const OpenedStore opened, open_store(environment, flags.directory, StoreAccess::kCreate));
  KVERN_TRY(const store::IncomingReport report, import_file(environment, flags, *opened.store));
  json::array names;
  for (const store::ContentName& name : report.entries) names.push_back(json::value(name.to_string()));
  const json::object object{{"saved", report.saved},
                            {"there", report.there},
                            {"blocks_written", report.blocks_written},
                            {"blocks_reused", report.blocks_reused},
                            {"names", std::move(names)}};
  if (flags.json) {
    KVERN_TRY_STATUS(write_json(object));
  } else {
    KVERN_TRY_STATUS(
        write_stdout(fmt::format("{} imported, {} there already; {} written, {} there already\n",
                                 counted(report.saved, "prefix", "prefixes"), report.there,
                                 counted(report.blocks_written, "block"), report.blocks_reused)));
  }
  return ExitCode::kOk;
}

}  // namespace

void add_kv_transfer_commands(CLI::App& kv, Command& chosen) {
  const auto out = std::make_shared<TransferFlags>();
  CLI::App& to_file =
      KvCommand<TransferFlags>{"export", "Prefixes into one file, for another machine", run_export}.add_to(
          kv, chosen, out);
  to_file.add_option("names", out->names, "Prefixes")->type_name("NAME...");
  to_file.add_flag("--all", out->all, "All prefixes");
  to_file.add_option("-o,--output", out->file, "The file to write; - is standard output")
      ->required()
      ->type_name("FILE");

  const auto in = std::make_shared<TransferFlags>();
  CLI::App& from_file =
      KvCommand<TransferFlags>{"import", "Prefixes out of a file; checked before any is used", run_import}
          .add_to(kv, chosen, in);
  from_file.add_option("file", in->file, "A file that `kvern kv export` wrote; - is standard input")
      ->required()
      ->type_name("FILE");
  from_file
      .add_option("-m,--model", in->model, "Take prefixes of this model only, with tokens of its vocabulary")
      ->type_name("MODEL");
  from_file.add_option("--fingerprint", in->fingerprint, "Likewise, by what `kvern inspect` shows")
      ->excludes("--model")
      ->type_name("HEX");
  from_file.add_flag("--pin", in->pin, "Keep them, whatever room is needed");
}

}  // namespace kvern::cli
