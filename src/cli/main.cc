// kvern: the command line. One file a command; this one only parses and dispatches.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <span>
#include <string>

#include <CLI/CLI.hpp>

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/empty_values.h"
#include "cli/environment.h"
#include "cli/signals.h"
#include "cli/version.h"

namespace kvern::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  kvern generate -m model.gguf -p \"Once upon a time\" -n 64\n"
    "  kvern run model.gguf\n"
    "  kvern inspect model.gguf\n"
    "  kvern bench model.gguf\n"
    "\n"
    "Exit codes: 0 done; 1 the work failed (input/output, permissions, memory); 2 bad flag, value\n"
    "or file; 130 interrupted before anything was produced.";

/// Whether `word` is a command, or a flag that stands before one.
bool is_known(const CLI::App& app, const std::string& word) {
  const auto named = [&](const CLI::App* command) { return command->get_name() == word; };
  return app.get_option_no_throw(word) != nullptr || !app.get_subcommands(named).empty();
}

/// A complaint about an option begins with one of its names: with the one that was written.
std::string as_written(const CLI::App& command, std::span<char* const> words, const std::string& message) {
  const size_t colon = message.find(':');
  const CLI::Option* option =
      colon == std::string::npos ? nullptr : command.get_option_no_throw(message.substr(0, colon));
  if (option == nullptr) return message;
  for (const char* word : words) {
    const std::string name = std::string(word).substr(0, std::string(word).find('='));
    if (name.starts_with('-') && option->check_name(name)) return name + message.substr(colon);
  }
  return message;
}

int run(int argc, char** argv) {
  keep_standard_descriptors();
  ignore_broken_pipes();
  const std::unique_ptr<Files> files = make_posix_files();
  const std::unique_ptr<Clock> clock = make_system_clock();
  const std::unique_ptr<LogSink> log = make_stderr_log(LogLevel::kWarning);
  Environment environment{*files, *clock, *log, install_interrupt_flag()};

  CLI::App app{"kvern: a language model engine that keeps the state of a generation exact"};
  app.name("kvern");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", [] { return version_text(); }, "Commit and CPU targets of this build");
  app.get_formatter()->column_width(34);
  app.failure_message(
      [&app, words = std::span(argv, static_cast<size_t>(argc))](const CLI::App*, const CLI::Error& error) {
        const CLI::App* command = &app;
        std::string path = "kvern";
        while (!command->get_subcommands().empty()) {
          command = command->get_subcommands().front();
          path += " " + command->get_name();
        }
        return "kvern: " + as_written(*command, words, error.what()) + " (see " + path + " --help)\n";
      });
  Command chosen;
  register_commands(app, chosen);
  if (argc > 1 && !is_known(app, argv[1])) {
    return static_cast<int>(report({.code = ErrorCode::kInvalidArgument,
                                    .message = "no such command; kvern --help lists them",
                                    .where = argv[1]}));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked_for_help = error.get_exit_code() == 0;
    app.exit(error);
    if (asked_for_help && !std::cout.flush()) {
      return static_cast<int>(report({.code = ErrorCode::kIo,
                                      .message = std::string("cannot write: ") + std::strerror(errno),
                                      .where = "standard output"}));
    }
    return static_cast<int>(asked_for_help ? ExitCode::kOk : ExitCode::kBadInput);
  }
  if (const Status named = check_no_empty_names(app); !named) return static_cast<int>(report(named.error()));
  const Result<ExitCode> result = chosen(environment);
  return static_cast<int>(result ? *result : report(result.error()));
}

}  // namespace
}  // namespace kvern::cli

int main(int argc, char** argv) {
  try {
    return kvern::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("kvern: out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kvern: %s\n", error.what());
  }
  return 1;
}
