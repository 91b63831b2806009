// kvern template: renders a chat template, and nothing else.
#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "engine/load/text_parts.h"
#include "text/template/chat_template.h"

namespace kvern::cli {
namespace {

constexpr uint64_t kMaxTemplateBytes = uint64_t{4} << 20;
constexpr uint64_t kMaxContextBytes = uint64_t{64} << 20;

struct TemplateFlags {
  std::string source;
  std::string context;
};

/// A folder and a .gguf or .safetensors file are models; every other file is the template itself.
Result<std::string> template_source(Files& files, const std::string& source) {
  const std::string_view name(source);
  const bool is_folder = files.is_directory(source).value_or(false);
  if (!is_folder && !name.ends_with(".gguf") && !name.ends_with(".safetensors"))
    return read_input(files, source, kMaxTemplateBytes);
  install_bus_error_message(source);
  KVERN_TRY(const model::OpenedModel opened, model::open_model(files, source));
  KVERN_TRY(const engine::TextParts parts, engine::load_text_parts(files, opened));
  if (!parts.chat_template) return fail(ErrorCode::kNotFound, "has no chat template", source);
  return *parts.chat_template;
}

Result<ExitCode> run(Environment& environment, const TemplateFlags& flags) {
  KVERN_TRY(const std::string context_text, read_input(environment.files, flags.context, kMaxContextBytes));
  KVERN_TRY(const json::value context, parse_json(context_text, flags.context));
  if (!context.is_object())
    return fail(ErrorCode::kInvalidArgument, "holds JSON that is not an object", flags.context);
  KVERN_TRY(std::string source, template_source(environment.files, flags.source));
  // A template that fails is a bad input whatever the kind of failure.
  const Result<std::unique_ptr<ChatTemplate>> parsed = ChatTemplate::parse(std::move(source), flags.source);
  if (!parsed) {
    report(parsed.error());
    return ExitCode::kBadInput;
  }
  const Result<std::string> rendered = (*parsed)->render(context, {.clock = &environment.clock});
  if (!rendered) {
    report(rendered.error());
    return ExitCode::kBadInput;
  }
  KVERN_TRY_STATUS(write_stdout(*rendered));
  return ExitCode::kOk;
}

}  // namespace

void add_template(CLI::App& app, Command& chosen) {
  auto flags = std::make_shared<TemplateFlags>();
  CLI::App& command = *app.add_subcommand("template", "Render a chat template with a JSON context");
  command.add_option("source", flags->source, "A Jinja file, or a model that has a template")
      ->required()
      ->type_name("FILE.jinja|MODEL");
  command
      .add_option("--context", flags->context,
                  "JSON object: messages, tools, add_generation_prompt, bos_token, ...; - is standard input")
      ->required()
      ->type_name("FILE.json");
  command.footer("Example:\n  kvern template chatml.jinja --context conversation.json");
  command.callback(
      [flags, &chosen] { chosen = [flags](Environment& environment) { return run(environment, *flags); }; });
}

}  // namespace kvern::cli
