// kvern for programs: load a model, generate text, chat. Needs nothing but the standard library.
//
//   auto model = kvern::LanguageModel::load({.path = "model.gguf"});
//   if (!model) return complain(model.error().to_string());
//   auto story = model->generate("Once upon a time", {.max_new_tokens = 64},
//                                [](std::string_view text) { std::cout << text; return true; });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kvern/result.h"

namespace kvern {

struct ModelOptions {
  std::string path{};               ///< a .gguf file or a Hugging Face folder
  int threads = 0;                  ///< 0: one for each core
  int64_t context_tokens = 0;       ///< longest prompt and answer together; 0: what the model was made for
  std::string kv_type = "f16";      ///< how keys and values are kept, as `kvern run --kv-type`
  std::string cpu_target = "auto";  ///< avx2, avx512, avx512-vnni, avx512-amx, neon; never changes a result
  /// A directory in which beginnings of prompts outlive the program; made if its parent is there. Several
  /// programs may use it. What is not saved yet is saved on destruction, for half a minute at most. Empty:
  /// none. Never changes what is generated, only when.
  std::string kv_dir{};
};

/// Sampling and stopping. The same options, prompt and model give the same text, always.
struct GenerateOptions {
  int64_t max_new_tokens = 128;
  float temperature = 0.8F;  ///< 0: greedy
  int32_t top_k = 40;        ///< 0: all
  float top_p = 0.95F;       ///< 1: all
  float min_p = 0.05F;       ///< 0: all
  /// Of the newest 64 tokens: divides the logit of each if positive, else multiplies it; 1: off.
  float repeat_penalty = 1.0F;
  float presence_penalty = 0.0F;   ///< taken from the logit of each of these tokens, once
  float frequency_penalty = 0.0F;  ///< the same, as often as it is there
  uint64_t seed = 0;
  std::vector<std::string> stop{};  ///< the text ends before the first of these
  bool ignore_end_tokens = false;   ///< the model's own end does not end the text
};

struct ChatMessage {
  std::string role;  ///< "system", "user", "assistant"
  std::string content;
};

struct Generation {
  std::string text;
  std::vector<int32_t> ids;   ///< the new tokens
  std::string finish_reason;  ///< "stop", "length", "cancelled"
  int64_t prompt_tokens = 0;
  int64_t reused_tokens = 0;  ///< of the prompt, kept from the call before
};

/// Gets complete UTF-8 text as it is generated; false stops.
using OnText = std::function<bool(std::string_view text)>;

/// A loaded model with one conversation's state: a prompt that begins like the one before is computed from
/// the first difference on. Use from one thread at a time; models are independent of each other.
class LanguageModel {
 public:
  /// Maps and validates the files. Errors name the file and what in it is wrong.
  static Result<LanguageModel> load(const ModelOptions& options);
  LanguageModel(LanguageModel&&) noexcept;
  LanguageModel& operator=(LanguageModel&&) noexcept;
  ~LanguageModel();

  /// Continues a text. kInvalidArgument: empty, or longer than the context.
  Result<Generation> generate(std::string_view prompt, const GenerateOptions& options = {},
                              const OnText& on_text = {});
  /// As generate, from token ids; works without a tokenizer (text is then empty).
  Result<Generation> generate(const std::vector<int32_t>& prompt, const GenerateOptions& options = {},
                              const OnText& on_text = {});
  /// Answers a conversation through the model's chat template.
  Result<Generation> chat(const std::vector<ChatMessage>& messages, const GenerateOptions& options = {},
                          const OnText& on_text = {});

  /// Ids of a text, with the tokenizer's beginning- and end-of-text tokens.
  Result<std::vector<int32_t>> tokenize(std::string_view text) const;
  /// Text of ids, special tokens left out.
  Result<std::string> detokenize(const std::vector<int32_t>& ids) const;

 private:
  struct Impl;
  explicit LanguageModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvern
