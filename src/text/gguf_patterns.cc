#include "text/gguf_patterns.h"

#include <array>

#include <fmt/format.h>

namespace kvern::text {
namespace {

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDigit = R"(\p{N})";
constexpr std::string_view kDigitRuns = R"(\p{N}{1,3})";
constexpr std::string_view kEastAsian = R"([一-龥぀-ゟ゠-ヿ]+)";
constexpr std::string_view kDeepSeek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kFalconPunctuation = R"([\p{P}\$\+<=>\^~\|]+)";
constexpr std::string_view kDigitRun = R"(\p{N}+)";
constexpr std::string_view kFalconDigits = R"([0-9][0-9][0-9])";

struct Named {
  std::string_view name;
  GgufPreTokenizer pre_tokenizer;
};

/// One table, so that the error can list what is known.
const std::vector<Named>& known() {
  static const std::vector<Named> table = [] {
    const GgufPreTokenizer gpt2{.patterns = {kGpt2}};
    const GgufPreTokenizer gpt2_nfc{.patterns = {kGpt2}, .nfc = true};
    const GgufPreTokenizer llama3{.patterns = {kLlama3}, .ignore_merges = true, .add_bos = true};
    const GgufPreTokenizer llama3_plain{.patterns = {kLlama3}};
    const GgufPreTokenizer qwen2{.patterns = {kQwen2}, .nfc = true};
    const GgufPreTokenizer digits{.patterns = {kDigit, kGpt2}};
    const GgufPreTokenizer gpt4o{.patterns = {kGpt4o}};
    const GgufPreTokenizer falcon{.patterns = {kFalconPunctuation, kGpt2, kFalconDigits}};
    return std::vector<Named>{
        {"gpt-2", gpt2},
        {"phi-2", gpt2},
        {"jais", gpt2},
        {"mpt", gpt2_nfc},
        {"olmo", gpt2_nfc},
        {"llama-bpe", llama3},
        {"llama3", llama3},
        {"llama-v3", llama3},
        {"dbrx", llama3_plain},
        {"smaug-bpe", llama3_plain},
        {"glm4", {.patterns = {kLlama3}, .ignore_merges = true}},
        {"chatglm-bpe", {.patterns = {kLlama3}, .ignore_merges = true}},
        {"qwen2", qwen2},
        {"stablelm2", qwen2},
        {"deepseek-r1-qwen", qwen2},
        {"megrez", qwen2},
        {"qwen35", {.patterns = {kQwen35}, .nfc = true}},
        {"tekken", {.patterns = {kTekken}, .ignore_merges = true, .add_bos = true}},
        {"gpt-4o", gpt4o},
        {"llama4", {.patterns = {kGpt4o}, .add_bos = true}},
        {"smollm", digits},
        {"starcoder", digits},
        {"refact", digits},
        {"codeshell", digits},
        {"command-r", {.patterns = {kDigit, kGpt2}, .nfc = true, .add_bos = true}},
        {"exaone", digits},
        {"deepseek-v3", {.patterns = {kDigitRuns, kEastAsian, kDeepSeek3}, .add_bos = true}},
        {"falcon", falcon},
        // For files from before the key existed.
        {"default", {.patterns = {kFalconPunctuation, kGpt2, kDigitRun, kFalconDigits}}},
    };
  }();
  return table;
}

}  // namespace

Result<GgufPreTokenizer> find_gguf_pre_tokenizer(std::string_view name, const std::string& where) {
  std::string names;
  for (const Named& entry : known()) {
    if (entry.name == name) return entry.pre_tokenizer;
    names += names.empty() ? "" : ", ";
    names += entry.name;
  }
  return fail(ErrorCode::kUnsupported,
              fmt::format("tokenizer.ggml.pre: \"{}\" is not known; known are: {}", name, names), where);
}

}  // namespace kvern::text
