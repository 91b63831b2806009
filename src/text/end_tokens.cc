#include "text/end_tokens.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace kvern::text {
namespace {

constexpr auto kEndSpellings = std::to_array<std::string_view>({
    "<|eot_id|>",                               // Llama 3
    "<|eom_id|>",                               // Llama 3.1, before a tool's answer
    "<|end_of_text|>",                          // Llama 3, Granite
    "<|eot|>",                                  // Llama 4
    "<|eom|>",                                  //
    "<|im_end|>",                               // ChatML: Qwen, Yi, SmolLM
    "<|endoftext|>",                            // GPT-2, Qwen
    "<end_of_turn>",                            // Gemma
    "<|end|>",                                  // Phi 3
    "<|return|>",                               // gpt-oss
    "<|call|>",                                 //
    "<|END_OF_TURN_TOKEN|>",                    // Command R
    "<|end_of_turn|>",                          // OpenChat
    "<|endofturn|>",                            // EXAONE
    "<|eot_token|>",                            //
    "<\uFF5Cend\u2581of\u2581sentence\uFF5C>",  // DeepSeek
    "<EOT>",
    "_<EOT>",  // CodeLlama
    "[EOS]",   //
    "</s>",
    "<eos>",  // SentencePiece models
});

}  // namespace

std::vector<TokenId> find_end_tokens(const Vocabulary& vocabulary, const std::vector<TokenId>& named) {
  std::vector<TokenId> ids = named;
  const bool harmony = vocabulary.find("<|return|>") && vocabulary.find("<|call|>");
  for (const std::string_view spelling : kEndSpellings) {
    // In gpt-oss's format <|end|> ends one message of several in a turn.
    if (harmony && spelling == "<|end|>") continue;
    if (const auto id = vocabulary.find(spelling)) ids.push_back(*id);
  }
  std::ranges::sort(ids);
  const auto repeated = std::ranges::unique(ids);
  ids.erase(repeated.begin(), repeated.end());
  return ids;
}

}  // namespace kvern::text
