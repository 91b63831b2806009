#include "cli/model_options.h"

#include <algorithm>
#include <charconv>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/kv_flags.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "compute/cpu_target.h"

namespace kvern::cli {
namespace {

constexpr uint64_t kMaxIdFileBytes = uint64_t{64} << 20;
constexpr int kMaxThreads = 1024;
constexpr int64_t kMaxTokens = int64_t{1} << 24;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool looks_like_ids(const std::string& text) {
  return std::ranges::all_of(
      text, [](char c) { return is_space(c) || is_digit(c) || c == ',' || c == '[' || c == ']'; });
}

/// Reads numbers separated by single commas or by spaces and newlines, with or without brackets around them.
class IdList {
 public:
  IdList(const std::string& text, const std::string& where) : text_(text), where_(where) {}

  Result<std::vector<int32_t>> read() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_digit(c)) {
        KVERN_TRY_STATUS(take_number());
        continue;
      }
      if (c == ',') KVERN_TRY_STATUS(take_comma());
      if (c == '[') KVERN_TRY_STATUS(take_opening());
      if (c == ']') KVERN_TRY_STATUS(take_closing());
      ++at_;
    }
    if (ids_.empty()) return fail(ErrorCode::kInvalidArgument, "no token ids given", where_);
    if (after_comma_) return missing("a number");
    if (open_) return missing("the closing ]");
    return std::move(ids_);
  }

 private:
  Status take_number() {
    int32_t id = 0;
    const char* const begin = text_.data();
    const auto [next, error] = std::from_chars(begin + at_, begin + text_.size(), id);
    if (error != std::errc{}) return fail(ErrorCode::kInvalidArgument, "a token id is too large", where_);
    ids_.push_back(id);
    at_ = static_cast<size_t>(next - begin);
    comma_may_follow_ = true;
    after_comma_ = false;
    return Ok{};
  }

  Status take_comma() {
    if (!comma_may_follow_) return missing("a number");
    comma_may_follow_ = false;
    after_comma_ = true;
    return Ok{};
  }

  Status take_opening() {
    if (open_) return missing("the closing ]");
    open_ = true;
    comma_may_follow_ = false;
    return Ok{};
  }

  Status take_closing() {
    if (!open_) return missing("the opening [");
    if (after_comma_) return missing("a number");
    open_ = false;
    return Ok{};
  }

  std::unexpected<Error> missing(std::string_view what) const {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is missing in the list of token ids, at character {}", what, at_ + 1),
                where_);
  }

  const std::string& text_;
  const std::string& where_;
  size_t at_ = 0;
  std::vector<int32_t> ids_;
  bool comma_may_follow_ = false;
  bool after_comma_ = false;
  bool open_ = false;
};

std::string compiled_targets_text() {
  std::string text;
  for (const compute::CpuTarget target : compute::compiled_targets())
    text += ", " + std::string(compute::to_string(target));
  return text;
}

}  // namespace

void add_model_flags(CLI::App& command, ModelFlags& flags, ModelArgument how) {
  engine::EngineOptions& engine = flags.engine;
  const char* name = how == ModelArgument::kFlag ? "-m,--model" : "model";
  command.add_option(name, engine.model_path, "Model: a .gguf file or a Hugging Face folder")
      ->required()
      ->type_name("MODEL");
  command.add_option("-t,--threads", engine.threads, "Threads; 0 = one for each core")
      ->check(whole_number(0, kMaxThreads))
      ->type_name("N");
  command
      .add_option("-c,--ctx,--ctx-size", engine.context_tokens,
                  "Longest row in tokens; 0 = what the model was made for")
      ->check(whole_number(0, kMaxTokens))
      ->type_name("N");
  command
      .add_option("--chunk,--ubatch-size", engine.chunk_tokens,
                  "Prompt tokens in one step; never changes a result")
      ->check(whole_number(1, kMaxTokens))
      ->capture_default_str()
      ->type_name("N");
  add_kv_flags(command, engine.kv);
  command.add_option("--cpu-target", engine.cpu_target, "Instruction set: auto" + compiled_targets_text())
      ->capture_default_str()
      ->type_name("NAME");
}

void warn_of_long_context(const engine::Engine& engine, LogSink& log) {
  const int64_t made_for = engine.model().config().context;
  if (engine.context_tokens() <= made_for) return;
  log.log(
      LogLevel::kWarning,
      fmt::format("--ctx {} is more than the {} tokens that the model was made for: what it writes behind "
                  "them may make no sense",
                  engine.context_tokens(), made_for));
}

Result<std::unique_ptr<engine::Engine>> open_engine(Environment& environment, const ModelFlags& flags) {
  ProgressLine progress;
  progress.show("loading " + flags.engine.model_path);
  install_bus_error_message(flags.engine.model_path);
  engine::EngineOptions options = flags.engine;
  options.stop = &environment.interrupted;
  KVERN_TRY(auto engine, engine::Engine::open(environment.files, options));
  progress.clear();
  warn_of_long_context(*engine, environment.log);
  return engine;
}

Error explained(const engine::Engine& engine, Error error) {
  if (error.code != ErrorCode::kCorrupt || error.where == engine::kWeights) return error;
  const Status values = engine.check_values();
  return values ? std::move(error) : values.error();
}

Result<std::vector<int32_t>> parse_ids(Files& files, const std::string& text) {
  std::string list = text;
  std::string where = "--ids";
  if (!looks_like_ids(text)) {
    if (!files.exists(text)) {
      return fail(ErrorCode::kInvalidArgument,
                  "'" + text + "' is neither a list of token ids such as 1,403,407 nor a file that exists",
                  "--ids");
    }
    KVERN_TRY(list, read_file(files, text, kMaxIdFileBytes));
    where = text;
    if (!looks_like_ids(list)) {
      return fail(ErrorCode::kInvalidArgument,
                  "holds something other than token ids separated by commas or spaces", text);
    }
  }
  return IdList(list, where).read();
}

Result<const text::Tokenizer*> require_tokenizer(const engine::Engine& engine) {
  if (engine.tokenizer() != nullptr) return engine.tokenizer();
  return fail(ErrorCode::kInvalidArgument, "this model has no tokenizer; give the prompt as --ids",
              engine.options().model_path);
}

}  // namespace kvern::cli
