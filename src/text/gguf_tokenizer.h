// The tokenizer keys of a GGUF file (ggml, docs/gguf.md, "Tokenizer") as plain data; a reader of GGUF fills
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvern::text {

struct GgufTokenizer {
  std::string model = {};                 ///< tokenizer.ggml.model: "gpt2", "llama" or "t5".
  std::string pre = {};                   ///< tokenizer.ggml.pre; empty when absent.
  std::vector<std::string> tokens = {};   ///< tokenizer.ggml.tokens
  std::vector<float> scores = {};         ///< tokenizer.ggml.scores; empty when absent.
  std::vector<int32_t> token_types = {};  ///< tokenizer.ggml.token_type; empty when absent.
  std::vector<std::string> merges = {};   ///< tokenizer.ggml.merges: "left right".
  std::optional<int64_t> bos_id = {};     ///< tokenizer.ggml.bos_token_id, and so on.
  std::optional<int64_t> eos_id = {};
  std::optional<int64_t> unk_id = {};  ///< tokenizer.ggml.unknown_token_id
  std::optional<int64_t> eot_id = {};
  std::optional<int64_t> eom_id = {};
  std::optional<bool> add_bos = {};           ///< tokenizer.ggml.add_bos_token
  std::optional<bool> add_eos = {};           ///< tokenizer.ggml.add_eos_token
  std::optional<bool> add_space_prefix = {};  ///< tokenizer.ggml.add_space_prefix
  std::optional<bool> remove_extra_whitespaces = {};
  std::string precompiled_charsmap = {};  ///< tokenizer.ggml.precompiled_charsmap, raw bytes.
};

/// Values of tokenizer.ggml.token_type.
enum class GgufTokenType : int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

}  // namespace kvern::text
