#include "cli/generation_flags.h"

#include <cstdio>
#include <limits>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/plural.h"
#include "cli/numbers.h"
#include "cli/output.h"

namespace kvern::cli {
namespace {

/// "15043+1" or "15043-0.5": what llama.cpp's --logit-bias takes.
std::string parse_logit_bias(const std::string& text, std::vector<engine::LogitBias>& biases) {
  const size_t sign = text.find_first_of("+-");
  if (sign == std::string::npos || sign == 0)
    return "write it as TOKEN+BIAS or TOKEN-BIAS, for example 15043-1";
  try {
    size_t used = 0;
    const int token = std::stoi(text.substr(0, sign), &used);
    if (used != sign) return "the token before the sign is not a number";
    const float bias = text.substr(sign) == "-inf" ? -std::numeric_limits<float>::infinity()
                                                   : std::stof(text.substr(sign), &used);
    biases.push_back({.token = token, .bias = bias});
  } catch (const std::exception&) {
    return "not numbers";
  }
  return {};
}

void add_penalty_flags(CLI::App& command, engine::SamplingParams& sampling) {
  command
      .add_option("--repeat-penalty", sampling.repeat_penalty,
                  "Divides logits of tokens seen before; 1 = off")
      ->check(decimal_number())
      ->capture_default_str();
  command
      .add_option("--repeat-last-n", sampling.repeat_last_n,
                  "How far back the penalties look; 0 = off, -1 = all")
      ->check(whole_number())
      ->capture_default_str();
  command
      .add_option("--presence-penalty", sampling.presence_penalty,
                  "Taken once from tokens seen before; 0 = off")
      ->check(decimal_number())
      ->capture_default_str();
  command
      .add_option("--frequency-penalty", sampling.frequency_penalty,
                  "Taken for each time a token was seen; 0 = off")
      ->check(decimal_number())
      ->capture_default_str();
}

void add_filter_flags(CLI::App& command, GenerationFlags& flags) {
  engine::SamplingParams& sampling = flags.sampling;
  command.add_option("--temp,--temperature", flags.temperature, "Temperature; 0 = greedy [0.8]")
      ->check(decimal_number());
  command.add_option("--top-k", sampling.top_k, "Keep the K likeliest tokens; 0 = all")
      ->check(whole_number())
      ->capture_default_str();
  command.add_option("--top-p", sampling.top_p, "Keep the likeliest tokens up to this probability; 1 = all")
      ->check(decimal_number())
      ->capture_default_str();
  command.add_option("--min-p", sampling.min_p, "Keep tokens this likely against the likeliest; 0 = all")
      ->check(decimal_number())
      ->capture_default_str();
  command.add_option("--typical", sampling.typical_p, "Locally typical sampling; 1 = off")
      ->check(decimal_number())
      ->capture_default_str();
  command
      .add_option("--xtc-probability", sampling.xtc_probability, "Chance to exclude the top choices; 0 = off")
      ->check(decimal_number())
      ->capture_default_str();
  command.add_option("--xtc-threshold", sampling.xtc_threshold, "What counts as a top choice")
      ->check(decimal_number())
      ->capture_default_str();
  command
      .add_option("-s,--seed", flags.seed,
                  fmt::format("Seed of the random numbers [{}]", engine::kDefaultSeed))
      ->check(seed_number());
}

}  // namespace

void GenerationFlags::apply(engine::GenerateRequest& request, SamplingDefault how) const {
  request.max_new_tokens = max_new_tokens;
  request.sampling = sampling;
  if (how == SamplingDefault::kGreedy) request.sampling.temperature = 0;
  if (temperature) request.sampling.temperature = *temperature;
  if (seed) request.sampling.seed = *seed;
  request.stop = stop;
  request.ignore_end_tokens = ignore_end_tokens;
  request.hash_logits = hash_logits;
}

void add_generation_flags(CLI::App& command, GenerationFlags& flags) {
  command.add_option("-n,--predict,--n-predict", flags.max_new_tokens, "Most new tokens")
      ->check(whole_number(0, int64_t{1} << 24))
      ->capture_default_str()
      ->type_name("N");
  add_filter_flags(command, flags);
  add_penalty_flags(command, flags.sampling);
  command
      .add_option_function<std::vector<std::string>>(
          "-l,--logit-bias",
          [&flags](const std::vector<std::string>& values) {
            for (const std::string& value : values) {
              const std::string problem = parse_logit_bias(value, flags.sampling.logit_bias);
              if (!problem.empty()) throw CLI::ValidationError("--logit-bias", value + ": " + problem);
            }
          },
          "Added to a token's logit: TOKEN+BIAS, TOKEN-BIAS or TOKEN-inf; may be repeated")
      ->allow_extra_args(false)  // else a model behind it would be taken for another bias
      ->type_name("BIAS");
  command.add_option("--stop,-r,--reverse-prompt", flags.stop, "Stop before this text; may be repeated")
      ->allow_extra_args(false)
      ->type_name("TEXT");
  command.add_flag("--ignore-eos", flags.ignore_end_tokens, "Go on after end-of-generation tokens");
}

void add_probability_flags(CLI::App& command, GenerationFlags& flags) {
  command
      .add_option("--logprobs", flags.sampling.top_logprobs,
                  "With --json: log-probabilities of the N likeliest tokens")
      ->check(whole_number(0, 1000))
      ->type_name("N");
  command.add_flag("--logit-hashes", flags.hash_logits,
                   "With --json: a hash of the logits of each new token");
}

Error named_by_flag(Error error) {
  constexpr std::pair<std::string_view, std::string_view> kFlags[] = {
      {"prompt", "-p"},
      {"temperature", "--temp"},
      {"top_k", "--top-k"},
      {"top_p", "--top-p"},
      {"min_p", "--min-p"},
      {"typical_p", "--typical"},
      {"repeat_penalty", "--repeat-penalty"},
      {"repeat_last_n", "--repeat-last-n"},
      {"presence_penalty", "--presence-penalty"},
      {"frequency_penalty", "--frequency-penalty"},
      {"xtc_probability", "--xtc-probability"},
      {"xtc_threshold", "--xtc-threshold"},
      {"logit_bias", "--logit-bias"},
  };
  for (const auto& [name, flag] : kFlags)
    if (error.where == name) error.where = flag;
  if (error.where.starts_with("stop[")) error.where = "--stop";
  return error;
}

void print_speeds(const engine::GenerateResult& result, std::optional<double> load_ms) {
  const auto computed = static_cast<double>(result.computed_tokens);
  const int64_t held = result.reused_tokens + result.computed_tokens;
  const auto decoded = static_cast<double>(result.ids.empty() ? 0 : result.ids.size() - 1);
  const auto per_second = [](double tokens, double ms) { return ms > 0 ? tokens * 1000.0 / ms : 0.0; };
  write_stderr(
      fmt::format("[{}prompt {}{}{}, {:.1f} tokens/s | generated {}, {:.1f} tokens/s | {}]\n",
                  load_ms ? fmt::format("load {:.0f} ms | ", *load_ms) : std::string(),
                  held < result.prompt_tokens ? fmt::format("{} of ", held) : std::string(),
                  counted(result.prompt_tokens, "token"),
                  result.reused_tokens > 0 ? fmt::format(" ({} kept)", result.reused_tokens) : std::string(),
                  per_second(computed, result.timings.prefill_ms), counted(std::ssize(result.ids), "token"),
                  per_second(decoded, result.timings.decode_ms), engine::to_string(result.finish_reason)));
}

}  // namespace kvern::cli
