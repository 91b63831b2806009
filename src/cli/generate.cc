// kvern generate: one prompt, one continuation.
#include <optional>
#include <random>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/generation_flags.h"
#include "cli/input.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "engine/chat/chat_prompt.h"
#include "engine/loop/session.h"

namespace kvern::cli {
namespace {

constexpr uint64_t kMaxPromptBytes = uint64_t{256} << 20;

struct GenerateFlags {
  ModelFlags model;
  GenerationFlags generation;
  std::optional<std::string> prompt;
  std::string prompt_file;
  std::string ids;
  std::string system;
  bool chat = false;
  bool json = false;
};

Result<std::string> prompt_text(Environment& environment, const GenerateFlags& flags) {
  if (flags.prompt) return *flags.prompt;
  if (!flags.prompt_file.empty()) return read_input(environment.files, flags.prompt_file, kMaxPromptBytes);
  return fail(ErrorCode::kInvalidArgument, "no prompt; give -p TEXT, -f FILE or --ids LIST");
}

Result<std::vector<int32_t>> prompt_ids(Environment& environment, const GenerateFlags& flags,
                                        const engine::Engine& engine) {
  if (!flags.ids.empty()) return parse_ids(environment.files, flags.ids);
  KVERN_TRY(const std::string text, prompt_text(environment, flags));
  KVERN_TRY(const text::Tokenizer* tokenizer, require_tokenizer(engine));
  if (flags.chat) {
    engine::ChatPrompt chat;
    if (!flags.system.empty()) chat.add("system", flags.system);
    chat.add("user", text);
    return chat.encode(engine, environment.clock);
  }
  std::vector<int32_t> ids = tokenizer->encode(text, {.add_special = true, .parse_special = true});
  if (ids.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "the prompt is empty, and this model has no beginning-of-text token to start from; give "
                "some text");
  }
  return ids;
}

json::array logprobs_json(const engine::GenerateResult& result, const text::Tokenizer* tokenizer) {
  const auto entry = [&](int32_t token, float logprob) {
    json::object object{{"id", token}, {"logprob", logprob}};
    if (tokenizer != nullptr) object["token"] = tokenizer->token_bytes(token);
    return object;
  };
  json::array array;
  for (const engine::TokenLogprobs& position : result.logprobs) {
    json::object object = entry(position.token, position.logprob);
    json::array top;
    for (const engine::TokenLogprob& candidate : position.top)
      top.push_back(entry(candidate.token, candidate.logprob));
    object["top"] = std::move(top);
    array.push_back(std::move(object));
  }
  return array;
}

json::object result_json(const engine::GenerateResult& result, const std::vector<int32_t>& prompt,
                         double load_ms, const text::Tokenizer* tokenizer) {
  json::object object{
      {"text", result.text},
      {"ids", json::array(result.ids.begin(), result.ids.end())},
      {"prompt_ids", json::array(prompt.begin(), prompt.end())},
      {"finish_reason", engine::to_string(result.finish_reason)},
      {"timings",
       {{"load_ms", load_ms},
        {"prefill_ms", result.timings.prefill_ms},
        {"decode_ms", result.timings.decode_ms},
        {"prompt_tokens", result.prompt_tokens},
        {"new_tokens", result.ids.size()}}},
  };
  if (!result.logprobs.empty()) object["logprobs"] = logprobs_json(result, tokenizer);
  if (!result.logit_hashes.empty()) {
    json::array hashes;
    for (const uint64_t hash : result.logit_hashes)
      hashes.push_back(json::string(fmt::format("{:016x}", hash)));
    object["logit_hashes"] = std::move(hashes);
  }
  return object;
}

Result<ExitCode> run(Environment& environment, const GenerateFlags& flags) {
  if (!flags.json && (flags.generation.hash_logits || flags.generation.sampling.top_logprobs)) {
    return fail(ErrorCode::kInvalidArgument,
                "--logprobs and --logit-hashes are part of the JSON answer; add --json");
  }
  const auto start = environment.clock.now();
  KVERN_TRY(const std::unique_ptr<engine::Engine> engine, open_engine(environment, flags.model));
  const double load_ms = std::chrono::duration<double, std::milli>(environment.clock.now() - start).count();
  engine::GenerateRequest request;
  KVERN_TRY(request.prompt, prompt_ids(environment, flags, *engine));
  // Ids given by hand are for exact checks: greedy unless asked otherwise.
  flags.generation.apply(request, flags.ids.empty() ? SamplingDefault::kRandom : SamplingDefault::kGreedy);

  engine::Session session(*engine);
  ProgressLine progress;
  Status written = Ok{};
  engine::GenerateEvents events;
  events.is_cancelled = [&] { return environment.interrupted.load() || !written; };
  events.on_prefill = [&](int64_t done, int64_t total) {
    progress.show(fmt::format("prompt {} / {} tokens", done, total));
  };
  if (!flags.json) {
    events.on_text = [&](std::string_view text) {
      progress.clear();
      if (written) written = write_stdout(text);
    };
  }
  const Result<engine::GenerateResult> generated = session.generate(request, events);
  progress.clear();
  if (!generated) {
    Error error = generated.error();
    if (error.where == "prompt") error.where = flags.prompt ? "-p" : flags.ids.empty() ? "-f" : "--ids";
    return std::unexpected(named_by_flag(explained(*engine, std::move(error))));
  }
  const engine::GenerateResult& result = *generated;
  KVERN_TRY_STATUS(written);
  if (flags.json) {
    KVERN_TRY_STATUS(write_json(result_json(result, request.prompt, load_ms, engine->tokenizer())));
  } else if (engine->tokenizer() == nullptr) {
    KVERN_TRY_STATUS(write_stdout(fmt::format("{}\n", fmt::join(result.ids, ","))));
  } else {
    KVERN_TRY_STATUS(write_stdout("\n"));
  }
  if (!flags.json) print_speeds(result, load_ms);
  const bool nothing_made = result.finish_reason == engine::FinishReason::kCancelled && result.ids.empty();
  return nothing_made ? ExitCode::kInterrupted : ExitCode::kOk;
}

}  // namespace

void add_generate(CLI::App& app, Command& chosen) {
  auto flags = std::make_shared<GenerateFlags>();
  CLI::App& command = *app.add_subcommand("generate", "Continue a prompt; tokens stream as they come");
  add_model_flags(command, flags->model, ModelArgument::kFlag);
  auto* prompt = command.add_option("-p,--prompt", flags->prompt, "The prompt")->type_name("TEXT");
  auto* file =
      command
          .add_option("-f,--file", flags->prompt_file, "A file that holds the prompt; - is standard input")
          ->type_name("FILE");
  auto* ids = command
                  .add_option("--ids", flags->ids,
                              "The prompt as token ids, or a file of ids; greedy unless --temp is given")
                  ->type_name("LIST|FILE");
  prompt->excludes(file)->excludes(ids);
  file->excludes(ids);
  auto* chat = command.add_flag("--chat", flags->chat,
                                "The prompt is a user's message: apply the model's chat template");
  command.add_option("--system,--system-prompt", flags->system, "The system message")
      ->needs(chat)
      ->type_name("TEXT");
  chat->excludes(ids);
  add_generation_flags(command, flags->generation);
  add_probability_flags(command, flags->generation);
  command.add_flag("--json", flags->json, "One JSON object instead of text");
  command.footer(
      "Examples:\n"
      "  kvern generate -m model.gguf -p \"Once upon a time\" -n 64\n"
      "  kvern generate -m model.gguf --chat -p \"What is the capital of France?\" --temp 0\n"
      "  kvern generate -m model.gguf --ids 1,403,407 --json --logit-hashes");
  command.callback(
      [flags, &chosen] { chosen = [flags](Environment& environment) { return run(environment, *flags); }; });
}

}  // namespace kvern::cli
