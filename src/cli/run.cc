// kvern run: a conversation at the terminal.
#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/plural.h"
#include "cli/commands.h"
#include "cli/generation_flags.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "engine/chat/chat_prompt.h"
#include "engine/loop/session.h"
#include "engine/tiers/kv_directory.h"

namespace kvern::cli {
namespace {

constexpr std::string_view kHelp =
    "Type a message and press Enter. Commands:\n"
    "  /reset   forget the conversation\n"
    "  /help    this text\n"
    "  /bye     leave (as does Ctrl-D)\n"
    "Ctrl-C stops the answer that is being written; a second Ctrl-C leaves.\n";

struct RunFlags {
  ModelFlags model;
  GenerationFlags generation;
  std::string system;
  std::string kv_dir;
};

// Before the program ends.
constexpr std::chrono::seconds kSaveAtEnd{30};

/// The state of one interactive run.
class Conversation {
 public:
  Conversation(Environment& environment, engine::Engine& engine, const RunFlags& flags,
               engine::TierOptions tiers)
      : environment_(environment), engine_(engine), flags_(flags), session_(engine, std::move(tiers)) {
    reset();
  }

  void reset() {
    chat_.clear();
    plain_text_.clear();
    if (!flags_.system.empty()) chat_.add("system", flags_.system);
  }

  /// For the next run.
  void save() {
    const int64_t least = engine::TierOptions{}.least_tokens;
    if (!session_.save(environment_.clock.now() + kSaveAtEnd).durable) {
      write_stderr("The conversation could not be saved.\n");
    } else if (most_tokens_ > 0 && most_tokens_ < least) {
      write_stderr(
          fmt::format("The conversation is not saved: it has {}, and those of less than {} are not.\n",
                      counted(most_tokens_, "token"), least));
    }
  }

  /// Answers one message on stdout.
  Status answer(const std::string& message) {
    engine::GenerateRequest request;
    KVERN_TRY(request.prompt, prompt_for(message));
    flags_.generation.apply(request, SamplingDefault::kRandom);
    ProgressLine progress;
    Status written = Ok{};
    engine::GenerateEvents events;
    events.is_cancelled = [&] { return environment_.interrupted.load() || !written; };
    events.on_prefill = [&](int64_t done, int64_t total) {
      progress.show(fmt::format("prompt {} / {} tokens", done, total));
    };
    events.on_text = [&](std::string_view text) {
      progress.clear();
      if (written) written = write_stdout(text);
    };
    auto result = session_.generate(request, events);
    progress.clear();
    environment_.interrupted = false;
    if (!result) return std::unexpected(named_by_flag(explained(engine_, std::move(result).error())));
    KVERN_TRY_STATUS(written);
    KVERN_TRY_STATUS(write_stdout("\n"));
    if (stderr_is_terminal()) print_speeds(*result, std::nullopt);
    most_tokens_ = std::max(most_tokens_, result->prompt_tokens + std::ssize(result->ids));
    remember(message, result->text);
    return Ok{};
  }

 private:
  bool has_template() const { return engine_.chat_template().has_value(); }

  Result<std::vector<int32_t>> prompt_for(const std::string& message) const {
    if (!has_template()) {
      KVERN_TRY(const text::Tokenizer* tokenizer, require_tokenizer(engine_));
      return tokenizer->encode(plain_text_ + message, {.add_special = true, .parse_special = true});
    }
    engine::ChatPrompt next = chat_;
    next.add("user", message);
    return next.encode(engine_, environment_.clock);
  }

  void remember(const std::string& message, const std::string& reply) {
    chat_.add("user", message);
    chat_.add("assistant", reply);
    plain_text_ += message + reply + "\n";
  }

  Environment& environment_;
  engine::Engine& engine_;
  const RunFlags& flags_;
  engine::Session session_;
  engine::ChatPrompt chat_;
  std::string plain_text_;
  int64_t most_tokens_ = 0;  // of one conversation
};

enum class LineKind { kMessage, kHandled, kLeave };

Result<LineKind> handle_command(const std::string& line, Conversation& conversation) {
  if (line.empty()) return LineKind::kHandled;
  if (line.front() != '/') return LineKind::kMessage;
  if (line == "/bye" || line == "/exit" || line == "/quit") return LineKind::kLeave;
  if (line == "/reset") {
    conversation.reset();
  } else {
    KVERN_TRY_STATUS(write_stdout(kHelp));
  }
  return LineKind::kHandled;
}

Result<ExitCode> converse(const engine::Engine& engine, Conversation& conversation) {
  const bool talk = stdout_is_terminal();
  if (talk) {
    write_stderr(fmt::format(
        "{}; /help lists the commands.\n",
        engine.chat_template() ? "Chatting" : "This model has no chat template: it continues what you type"));
  }
  std::string line;
  for (;;) {
    if (talk) KVERN_TRY_STATUS(write_stdout("> "));
    if (!std::getline(std::cin, line)) {
      // Ctrl-C at the prompt leaves, like the end of the input.
      if (talk) KVERN_TRY_STATUS(write_stdout("\n"));
      return ExitCode::kOk;
    }
    KVERN_TRY(const LineKind kind, handle_command(line, conversation));
    if (kind == LineKind::kLeave) return ExitCode::kOk;
    if (kind == LineKind::kHandled) continue;
    // One message that cannot be answered (too long, say) does not end the conversation.
    if (const Status answered = conversation.answer(line); !answered) {
      if (!talk) return std::unexpected(answered.error());
      report(answered.error());
    }
  }
}

Result<ExitCode> run(Environment& environment, const RunFlags& flags) {
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<engine::KvDirectory> kv;  // gone before the engine
  engine::TierOptions tiers;
  if (!flags.kv_dir.empty()) {
    KVERN_TRY(kv, engine::KvDirectory::open(
                      {.files = environment.files, .clock = environment.clock, .log = environment.log},
                      {.path = flags.kv_dir}));
  }
  KVERN_TRY(engine, open_engine(environment, flags.model));
  if (kv != nullptr) KVERN_TRY_STATUS(kv->add_to(tiers, *engine));
  Conversation conversation(environment, *engine, flags, std::move(tiers));
  const auto left = converse(*engine, conversation);
  if (kv != nullptr) conversation.save();
  return left;
}

}  // namespace

void add_run(CLI::App& app, Command& chosen) {
  auto flags = std::make_shared<RunFlags>();
  flags->generation.max_new_tokens = 1024;
  CLI::App& command = *app.add_subcommand("run", "Talk with a model at the terminal");
  add_model_flags(command, flags->model, ModelArgument::kPositional);
  command.add_option("--system,--system-prompt", flags->system, "The system message")->type_name("TEXT");
  command
      .add_option("--kv-dir", flags->kv_dir,
                  "Directory in which what was computed for a conversation is saved, for later runs")
      ->type_name("DIR");
  add_generation_flags(command, flags->generation);
  command.footer("Example:\n  kvern run model.gguf --system \"You are brief.\"");
  command.callback(
      [flags, &chosen] { chosen = [flags](Environment& environment) { return run(environment, *flags); }; });
}

}  // namespace kvern::cli
