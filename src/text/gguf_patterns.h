// What the names in `tokenizer.ggml.pre` stand for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvern::text {

/// How a byte-level BPE vocabulary of some family prepares text. The patterns are those of the families'
/// tokenizer.json.
struct GgufPreTokenizer {
  std::vector<std::string_view>
      patterns;                ///< Each splits the pieces of the one before; matches are isolated.
  bool nfc = false;            ///< Text is normalized to NFC first.
  bool ignore_merges = false;  ///< A piece that is a token is that token.
  bool add_bos = false;        ///< When the file does not say.
};

/// The entry of a name. An unknown name is an error (kUnsupported) that lists the known ones.
Result<GgufPreTokenizer> find_gguf_pre_tokenizer(std::string_view name, const std::string& where);

}  // namespace kvern::text
