// kvern logits: the raw logits of every position, for checking against another implementation.
#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/output.h"

namespace kvern::cli {
namespace {

struct LogitsFlags {
  ModelFlags model;
  std::string ids;
  std::string output;
};

/// Computes and writes; the file is incomplete after an error.
Status write_logits(Environment& environment, const std::string& path, engine::Engine& engine,
                    const std::vector<int32_t>& ids) {
  KVERN_TRY(const std::unique_ptr<File> file, environment.files.open(path, OpenMode::kCreate));
  const auto positions = static_cast<int64_t>(ids.size());
  const std::string header = npy_header_f32(positions, engine.model().config().vocab);
  KVERN_TRY_STATUS(file->write_at(0, std::as_bytes(std::span(header))));
  uint64_t offset = header.size();

  ProgressLine progress;
  const state::RowId row = engine.kv().add_row();
  for (size_t done = 0; done < ids.size();) {
    if (environment.interrupted)
      return fail(ErrorCode::kCancelled, "interrupted before it was complete", path);
    const size_t count = std::min(static_cast<size_t>(engine.options().chunk_tokens), ids.size() - done);
    const engine::Engine::RowTokens work{
        .row = row, .tokens = std::span(ids).subspan(done, count), .logits = engine::Engine::Logits::kAll};
    KVERN_TRY(const std::span<float> logits, engine.forward({&work, 1}));
    KVERN_TRY_STATUS(engine.check_logits(logits));
    KVERN_TRY_STATUS(file->write_at(offset, std::as_bytes(logits)));
    offset += logits.size_bytes();
    done += count;
    progress.show(fmt::format("{} / {} positions", done, ids.size()));
  }
  KVERN_TRY_STATUS(engine.kv().remove_row(row));
  return file->sync();
}

Result<ExitCode> run(Environment& environment, const LogitsFlags& flags) {
  KVERN_TRY(const std::vector<int32_t> ids, parse_ids(environment.files, flags.ids));
  KVERN_TRY(const std::unique_ptr<engine::Engine> engine, open_engine(environment, flags.model));
  KVERN_TRY_STATUS(engine->check_tokens(ids));
  const Status written = write_logits(environment, flags.output, *engine, ids);
  if (written) return ExitCode::kOk;
  // A part of the logits looks like a file of them; a device stays.
  const Result<FileKind> kind = environment.files.kind(flags.output);
  if (kind && *kind == FileKind::kRegular) static_cast<void>(environment.files.remove(flags.output));
  return std::unexpected(written.error());
}

}  // namespace

void add_logits(CLI::App& app, Command& chosen) {
  auto flags = std::make_shared<LogitsFlags>();
  CLI::App& command =
      *app.add_subcommand("logits", "Write the logits of every position of a prompt to a .npy file");
  add_model_flags(command, flags->model, ModelArgument::kPositional);
  command.add_option("--ids", flags->ids, "Token ids, or a file of ids")->required()->type_name("LIST|FILE");
  command.add_option("-o,--output", flags->output, "float32 [positions, vocab]")
      ->required()
      ->type_name("FILE.npy");
  command.footer("Example:\n  kvern logits model.gguf --ids 1,403,407 -o logits.npy");
  command.callback(
      [flags, &chosen] { chosen = [flags](Environment& environment) { return run(environment, *flags); }; });
}

}  // namespace kvern::cli
