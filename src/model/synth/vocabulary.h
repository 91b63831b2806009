// A tokenizer for synthetic models: valid, tiny, and padded to any size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/gguf/gguf_writer.h"

namespace kvern::model {

/// Byte-level BPE of the GPT-2 kind: 256 byte tokens, a few merges, then words "w000300" that no merge makes,
/// and at the end two control tokens.
struct SynthVocabulary {
  std::vector<std::string> tokens;  ///< as GGUF stores them: bytes through GPT-2's printable alphabet
  std::vector<int32_t> types;       ///< 1 normal, 3 control
  std::vector<std::string> merges;  ///< "a b"
  uint32_t begin_token = 0;
  uint32_t end_token = 0;
};

/// `size` is at least 512.
SynthVocabulary make_synth_vocabulary(int64_t size);

/// Adds the tokenizer.ggml.* entries.
void add_vocabulary(const SynthVocabulary& vocabulary, std::string_view pretokenizer, GgufWriter& writer);

}  // namespace kvern::model
