// Text to token ids and back.
//
// What decides is Hugging Face's `tokenizers`: a tokenizer made from tokenizer.json gives the ids that it
// gives, and one made from a GGUF file those of the tokenizer.json from which that file was converted.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/decoder.h"
#include "text/range.h"
#include "text/token.h"

namespace kvern::text {

struct GgufTokenizer;

struct EncodeOptions {
  /// Adds what the tokenizer puts around a text (BOS, EOS), once, whatever the text begins with.
  bool add_special = true;
  /// Literals of special tokens in the text become these tokens. Off for text from users: such a literal is
  /// then ordinary text, and no special token can come out of it but the unk and byte tokens, where a file
  /// calls these special. Added tokens that are not special (Qwen's <think>) are found either way, as in
  /// Hugging Face.
  bool parse_special = false;
  /// With parse_special: stretches of the text, in order, in which such literals stay ordinary text all the
  /// same (what a user wrote, inside a rendered template). Byte ranges of the text as given, which must then
  /// be UTF-8. Borrowed.
  std::span<const Range> plain = {};
  /// Who takes no more tokens than this need not wait for them: encoding ends once there are more. The result
  /// is longer than this then, and says nothing else.
  size_t most_tokens = std::numeric_limits<size_t>::max();
};

struct DecodeOptions {
  /// Leaves special tokens out of the text.
  bool skip_special = true;
};

/// Immutable, thread-safe.
class Tokenizer {
 public:
  /// From the tokenizer keys of a GGUF file. Errors name the key and carry `where`.
  static Result<std::unique_ptr<Tokenizer>> from_gguf(const GgufTokenizer& data, const std::string& where);
  /// From Hugging Face files. `config_json` (tokenizer_config.json) may be empty; it names BOS and EOS. A
  /// component that is not supported is an error (kUnsupported) that names it. Errors name the key and carry
  /// `where`.
  static Result<std::unique_ptr<Tokenizer>> from_json(std::string_view tokenizer_json,
                                                      std::string_view config_json, const std::string& where);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// The tokens of any bytes. What is not UTF-8 becomes byte tokens where the vocabulary has all 256 of them
  /// (SentencePiece kinds), else U+FFFD, once for each ill-formed beginning of a character: what Hugging Face
  /// would be given. Takes time O(n log n).
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {}) const;

  /// Always valid UTF-8: bytes that form no character become U+FFFD. Ids that do not exist give nothing.
  /// Equal to what a StreamDecoder gives in parts.
  std::string decode(std::span<const TokenId> ids, DecodeOptions options = {}) const;

  /// The bytes that a token adds to a text that has begun: not always UTF-8. The literal of a special token;
  /// nothing for an id that does not exist.
  std::string token_bytes(TokenId id) const;
  /// A token as the vocabulary spells it. Lives as long as the tokenizer.
  std::string_view token_text(TokenId id) const;

  /// One more than the largest id. A model may have more rows than that.
  size_t vocab_size() const;
  /// The id whose spelling in the vocabulary this is.
  std::optional<TokenId> id_of(std::string_view spelling) const;
  std::optional<TokenId> bos() const;
  std::optional<TokenId> eos() const;
  std::optional<TokenId> unk() const;
  /// Every token that ends a generation, sorted. More may stand in a model's generation_config.json.
  const std::vector<TokenId>& end_of_generation() const;
  bool is_end_of_generation(TokenId id) const;
  /// Control tokens: left out of text on request, and never made from text unless asked for.
  bool is_special(TokenId id) const;
  /// True when `add_special` puts BOS before a text.
  bool adds_bos() const;

  struct Parts;
  explicit Tokenizer(std::unique_ptr<const Parts> parts);

 private:
  friend class StreamDecoder;
  std::unique_ptr<const Parts> parts_;
  size_t longest_ = 0;  // bytes of a piece that become one token, at most
};

/// The text of one generation as it grows. All that push() and finish() return, joined, is decode() of all
/// ids, and each part is valid UTF-8. One thread; the tokenizer must outlive it.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, DecodeOptions options = {});
  /// The text that has become certain: whole characters, often one token's, sometimes none.
  std::string push(TokenId id);
  /// What was held back; afterwards the decoder is as new.
  std::string finish();
  /// What push() changes, for those who have it fetched ahead of time.
  std::span<const Decoder::StepState> memory() const { return state_.steps; }

 private:
  const Tokenizer& tokenizer_;
  DecodeOptions options_;
  Decoder::State state_;
};

}  // namespace kvern::text
