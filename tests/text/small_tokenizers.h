// Small tokenizers for tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "text/gguf_tokenizer.h"
#include "text/tokenizer.h"

namespace kvern::test {

/// A GGUF vocabulary of type "llama" whose tokens are these strings after <unk>, <s>, </s>, each with a score
/// that falls from the first on; with `byte_tokens`, the 256 byte tokens stand between.
inline text::GgufTokenizer sentence_piece_data(const std::vector<std::string>& pieces,
                                               size_t byte_tokens = 256) {
  text::GgufTokenizer data;
  data.model = "llama";
  const auto add = [&](std::string token, float score, text::GgufTokenType type) {
    data.tokens.push_back(std::move(token));
    data.scores.push_back(score);
    data.token_types.push_back(static_cast<int32_t>(type));
  };
  add("<unk>", 0, text::GgufTokenType::kUnknown);
  add("<s>", 0, text::GgufTokenType::kControl);
  add("</s>", 0, text::GgufTokenType::kControl);
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (size_t byte = 0; byte < byte_tokens; ++byte)
    add(std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">", 0, text::GgufTokenType::kByte);
  float score = 0;
  for (const std::string& piece : pieces) add(piece, score--, text::GgufTokenType::kNormal);
  return data;
}

/// A byte-level tokenizer.json with a token for every byte, the tokens that `merges` make and these added
/// tokens (an array in JSON); ids: bytes 0..255, merged tokens, then what the added tokens say. `extra` is
/// more members, each with a comma before it.
std::string byte_level_json(const std::vector<std::pair<std::string, std::string>>& merges,
                            const std::string& added_tokens = "[]", const std::string& extra = "");

/// A tokenizer.json with these members of a BPE model.
inline std::string bpe_json(const std::string& model_members, const std::string& members = "") {
  return R"({"model": {"type": "BPE", )" + model_members + "}" + members + "}";
}

}  // namespace kvern::test
