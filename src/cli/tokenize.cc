// kvern tokenize: text to ids and back, a line at a time.
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "engine/load/text_parts.h"

namespace kvern::cli {
namespace {

struct TokenizeFlags {
  std::string source;
  bool decode = false;
  bool json = false;
  bool no_special = false;
  bool no_parse_special = false;
};

bool ends_with(const std::string& text, std::string_view end) {
  return std::string_view(text).ends_with(end);
}

Result<std::unique_ptr<text::Tokenizer>> open_tokenizer(Files& files, const std::string& source) {
  if (ends_with(source, ".json")) return engine::load_tokenizer_json(files, source);
  install_bus_error_message(source);
  KVERN_TRY(const model::OpenedModel opened, model::open_model(files, source));
  KVERN_TRY(engine::TextParts parts, engine::load_text_parts(files, opened));
  if (!parts.tokenizer) return fail(ErrorCode::kNotFound, "holds no tokenizer", source);
  return std::move(parts.tokenizer);
}

Result<std::string> encode_line(const text::Tokenizer& tokenizer, const TokenizeFlags& flags,
                                const std::string& text) {
  const std::vector<int32_t> ids =
      tokenizer.encode(text, {.add_special = !flags.no_special, .parse_special = !flags.no_parse_special});
  return flags.json ? to_json(json::array(ids.begin(), ids.end())) : fmt::format("{}", fmt::join(ids, " "));
}

Result<std::string> text_of_line(const TokenizeFlags& flags, const std::string& line, int64_t number) {
  if (!flags.json) return line;
  KVERN_TRY(const json::value value, parse_json(line, fmt::format("line {}", number)));
  if (!value.is_string())
    return fail(ErrorCode::kInvalidArgument, "is not a JSON string", fmt::format("line {}", number));
  return std::string(value.as_string());
}

/// "[1, 403]", or without brackets and commas as this command writes ids.
Result<std::vector<int32_t>> ids_of_line(const std::string& line, const std::string& where) {
  std::string array = line;
  if (!line.starts_with('[')) {
    array = "[";
    bool in_number = false;
    for (const char c : line) {
      const bool separator = c == ' ' || c == ',' || c == '\t' || c == '\r';
      if (!separator && !in_number && array.size() > 1) array += ',';
      if (!separator) array += c;
      in_number = !separator;
    }
    array += ']';
  }
  KVERN_TRY(const json::value value, parse_json(array, where));
  if (!value.is_array()) return fail(ErrorCode::kInvalidArgument, "is not an array of token ids", where);
  std::vector<int32_t> ids;
  for (const json::value& id : value.as_array()) {
    boost::system::error_code error;
    const auto number = id.to_number<int32_t>(error);
    if (error) return fail(ErrorCode::kInvalidArgument, "is not an array of token ids", where);
    ids.push_back(number);
  }
  return ids;
}

Result<std::string> decode_line(const text::Tokenizer& tokenizer, const TokenizeFlags& flags,
                                const std::string& line, int64_t number) {
  KVERN_TRY(const std::vector<int32_t> ids, ids_of_line(line, fmt::format("line {}", number)));
  for (const int32_t id : ids) {
    if (id < 0 || static_cast<size_t>(id) >= tokenizer.vocab_size())
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("there is no token {} in the vocabulary of {}", id, tokenizer.vocab_size()),
                  fmt::format("line {}", number));
  }
  const std::string text = tokenizer.decode(ids, {.skip_special = flags.no_special});
  return flags.json ? to_json(json::string(text)) : text;
}

Result<ExitCode> run(Environment& environment, const TokenizeFlags& flags) {
  KVERN_TRY(const std::unique_ptr<text::Tokenizer> tokenizer,
            open_tokenizer(environment.files, flags.source));
  std::string line;
  for (int64_t number = 1; std::getline(std::cin, line); ++number) {
    std::string out;
    if (flags.decode) {
      KVERN_TRY(out, decode_line(*tokenizer, flags, line, number));
    } else {
      KVERN_TRY(const std::string text, text_of_line(flags, line, number));
      KVERN_TRY(out, encode_line(*tokenizer, flags, text));
    }
    KVERN_TRY_STATUS(write_stdout(out + "\n"));
  }
  return ExitCode::kOk;
}

}  // namespace

void add_tokenize(CLI::App& app, Command& chosen) {
  auto flags = std::make_shared<TokenizeFlags>();
  CLI::App& command = *app.add_subcommand("tokenize", "Text on stdin to token ids on stdout, a line each");
  command.add_option("source", flags->source, "A model, or a tokenizer.json")
      ->required()
      ->type_name("MODEL|tokenizer.json");
  command.add_flag("--decode", flags->decode, "Ids to text instead");
  command.add_flag("--json", flags->json,
                   "A line is a JSON string (or an array of ids with --decode), and so is the answer");
  command.add_flag("--no-special", flags->no_special,
                   "Add no beginning- or end-of-text tokens; with --decode leave special tokens out");
  command.add_flag("--no-parse-special", flags->no_parse_special,
                   "Literals of special tokens are ordinary text");
  command.footer(
      "Examples:\n"
      "  echo '\"Hello\\nworld\"' | kvern tokenize model.gguf --json\n"
      "  echo '[1, 403, 407]' | kvern tokenize model.gguf --json --decode");
  command.callback(
      [flags, &chosen] { chosen = [flags](Environment& environment) { return run(environment, *flags); }; });
}

}  // namespace kvern::cli
