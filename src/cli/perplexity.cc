// kvern perplexity: how well a model predicts a text.
#include <algorithm>
#include <cmath>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/plural.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "compute/kernels/softmax.h"

namespace kvern::cli {
namespace {

constexpr uint64_t kMaxTextBytes = uint64_t{256} << 20;

struct PerplexityFlags {
  ModelFlags model;
  std::string file;
  bool json = false;
};

struct Score {
  double negative_log_likelihood = 0;
  int64_t tokens = 0;
};

/// Scores every token of a window but its first, each from all tokens of the window before it.
/// kCancelled when the user interrupted.
Result<Score> score_window(const Environment& environment, engine::Engine& engine,
                           std::span<const int32_t> window) {
  Score score;
  const state::RowId row = engine.kv().add_row();
  const auto vocabulary = static_cast<size_t>(engine.model().config().vocab);
  // Logits of a whole chunk are kept at once, so the chunk is smaller than that of a plain prefill.
  const size_t chunk = std::min<size_t>(64, static_cast<size_t>(engine.options().chunk_tokens));
  for (size_t done = 0; done + 1 < window.size();) {
    if (environment.interrupted) return fail(ErrorCode::kCancelled, "interrupted");
    const size_t count = std::min(chunk, window.size() - 1 - done);
    const engine::Engine::RowTokens work{
        .row = row, .tokens = window.subspan(done, count), .logits = engine::Engine::Logits::kAll};
    KVERN_TRY(const std::span<float> logits, engine.forward({&work, 1}));
    KVERN_TRY_STATUS(engine.check_logits(logits));
    for (size_t i = 0; i < count; ++i) {
      const std::span<const float> position = logits.subspan(i * vocabulary, vocabulary);
      const auto next = static_cast<size_t>(window[done + i + 1]);
      score.negative_log_likelihood +=
          compute::log_sum_exp(engine.compute(), position) - double{position[next]};
      ++score.tokens;
    }
    done += count;
  }
  KVERN_TRY_STATUS(engine.kv().remove_row(row));
  return score;
}

Result<ExitCode> run(Environment& environment, const PerplexityFlags& flags) {
  KVERN_TRY(const std::string text, read_input(environment.files, flags.file, kMaxTextBytes));
  KVERN_TRY(const std::unique_ptr<engine::Engine> engine, open_engine(environment, flags.model));
  KVERN_TRY(const text::Tokenizer* tokenizer, require_tokenizer(*engine));
  const std::vector<int32_t> ids = tokenizer->encode(text, {.add_special = true});
  if (ids.size() < 2)
    return fail(ErrorCode::kInvalidArgument, "needs at least two tokens of text", flags.file);
  const auto window = static_cast<size_t>(flags.model.engine.context_tokens > 0
                                              ? engine->context_tokens()
                                              : std::min<int64_t>(engine->context_tokens(), 2048));
  if (window < 2)
    return fail(ErrorCode::kInvalidArgument, "windows of 1 token hold none to predict; give 2 or more",
                "--ctx");
  Score total;
  ProgressLine progress;
  for (size_t start = 0; start + 1 < ids.size(); start += window) {
    KVERN_TRY(const Score score,
              score_window(environment, *engine,
                           std::span(ids).subspan(start, std::min(window, ids.size() - start))));
    total.negative_log_likelihood += score.negative_log_likelihood;
    total.tokens += score.tokens;
    progress.show(fmt::format("{} / {} tokens, perplexity {:.4f}", std::min(start + window, ids.size()),
                              ids.size(),
                              std::exp(total.negative_log_likelihood / static_cast<double>(total.tokens))));
  }
  progress.clear();
  const double mean = total.negative_log_likelihood / static_cast<double>(total.tokens);
  if (flags.json) {
    KVERN_TRY_STATUS(write_json({{"perplexity", std::exp(mean)},
                                 {"mean_negative_log_likelihood", mean},
                                 {"tokens", total.tokens},
                                 {"window", window}}));
  } else {
    KVERN_TRY_STATUS(write_stdout(fmt::format("perplexity {:.4f} over {} in windows of {}\n", std::exp(mean),
                                              counted(total.tokens, "token"), window)));
  }
  return ExitCode::kOk;
}

}  // namespace

void add_perplexity(CLI::App& app, Command& chosen) {
  auto flags = std::make_shared<PerplexityFlags>();
  CLI::App& command = *app.add_subcommand("perplexity", "How well a model predicts a text file");
  add_model_flags(command, flags->model, ModelArgument::kPositional);
  command
      .add_option("-f,--file,file", flags->file,
                  "UTF-8 text; scored in windows of --ctx tokens [at most 2048]; - is standard input")
      ->required()
      ->type_name("FILE");
  command.add_flag("--json", flags->json, "One JSON object");
  command.footer("Example:\n  kvern perplexity model.gguf book.txt --ctx 1024");
  command.callback(
      [flags, &chosen] { chosen = [flags](Environment& environment) { return run(environment, *flags); }; });
}

}  // namespace kvern::cli
