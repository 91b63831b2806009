#include "text/tokenizer.h"

#include <algorithm>

#include "base/check.h"
#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/byte_tokens.h"
#include "text/characters.h"
#include "text/tokenizer_parts.h"

namespace kvern::text {
namespace {

using Parts = Tokenizer::Parts;

/// The most bytes of a character, also of one that stands for a byte which is not UTF-8.
constexpr size_t kCharacterBytes = 4;

/// Where tokens go, and when there are enough.
struct Output {
  std::vector<TokenId>& tokens;
  size_t most;     ///< EncodeOptions::most_tokens
  size_t longest;  ///< bytes of a piece that become one token, at most

  bool full() const { return tokens.size() > most; }
  /// So many bytes that each become part of some token are too many, however they are cut.
  bool cannot_take(size_t bytes) const { return bytes / longest > most - tokens.size(); }
  void fill() { tokens.resize(most + 1); }
};

/// Cuts one stretch of normalized text and encodes its pieces.
void encode_text(const Parts& parts, std::string text, bool at_start, Output& out) {
  const Pieces pieces = parts.pre_tokenizer.split(std::move(text), at_start);
  for (const Range range : pieces.ranges) {
    if (out.full()) return;
    const auto piece = std::string_view(pieces.text).substr(range.begin, range.end - range.begin);
    // A model that has tokens for all bytes leaves none out. Its pieces can be as long as the text.
    if (parts.model->takes_escaped_bytes() && out.cannot_take(piece.size())) return out.fill();
    parts.model->encode(piece, out.tokens);
  }
}

/// Normalizes one stretch of text and finds the added tokens that stand in normalized text.
void encode_stretch(const Parts& parts, std::string_view stretch, bool at_start, bool parse_special,
                    Output& out) {
  std::string text = parts.normalizer.apply(std::string(stretch));
  if (text.empty()) return;
  if (parts.normalized_literals.empty()) return encode_text(parts, std::move(text), at_start, out);
  for (const Segment& segment : parts.normalized_literals.split(text, {.enabled = parse_special})) {
    if (out.full()) return;
    if (segment.token >= 0) {
      out.tokens.push_back(segment.token);
      continue;
    }
    const Range range = segment.range;
    encode_text(parts, text.substr(range.begin, range.end - range.begin), at_start && range.begin == 0, out);
  }
}

bool encodes_any_byte(const Parts& parts) {
  return parts.model->takes_escaped_bytes() && parts.normalizer.keeps_escaped_bytes() &&
         parts.pre_tokenizer.keeps_escaped_bytes();
}

}  // namespace

void Tokenizer::Parts::add_literal(const AddedToken& token) {
  if (token.special) {
    const auto index = static_cast<size_t>(token.id);
    if (index >= special.size()) special.resize(index + 1);
    special[index] = true;
  }
  if (token.normalized)
    normalized_literals.add(token, normalizer.apply(token.content));
  else
    literals.add(token, token.content);
}

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {
  KVERN_CHECK(parts_ != nullptr && parts_->model != nullptr);
  longest_ = kCharacterBytes;
  for (size_t id = 0; id < vocab_size(); ++id)
    longest_ = std::max(longest_, token_text(static_cast<TokenId>(id)).size());
}

Tokenizer::~Tokenizer() = default;

std::vector<TokenId> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  std::string repaired;
  if (!is_valid_utf8(text)) {
    repaired = encodes_any_byte(*parts_) ? escape_invalid_bytes(text) : replace_invalid_utf8(text);
    text = repaired;
  }
  std::vector<TokenId> tokens;
  if (options.add_special) tokens = parts_->before;
  Output out{.tokens = tokens, .most = options.most_tokens, .longest = longest_};
  const SpecialParsing parsing{.enabled = options.parse_special, .plain = options.plain};
  for (const Segment& segment : parts_->literals.split(text, parsing)) {
    if (out.full()) return tokens;
    const Range range = segment.range;
    // Places in normalized text cannot be told from those in the given one: a stretch with plain parts is
    // plain there.
    if (segment.token >= 0)
      tokens.push_back(segment.token);
    else
      encode_stretch(*parts_, text.substr(range.begin, range.end - range.begin), range.begin == 0,
                     parsing.allows(range), out);
  }
  if (options.add_special) tokens.insert(tokens.end(), parts_->after.begin(), parts_->after.end());
  return tokens;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, DecodeOptions options) const {
  StreamDecoder decoder(*this, options);
  std::string text;
  for (const TokenId id : ids) text += decoder.push(id);
  return text + decoder.finish();
}

std::string Tokenizer::token_bytes(TokenId id) const {
  const std::string_view spelling = parts_->vocabulary.text_of(id);
  std::string bytes;
  if (parts_->byte_level) {
    if (append_bytes_of_characters(bytes, spelling)) return bytes;
    return std::string(spelling);
  }
  if (parts_->is_special(id)) return std::string(spelling);
  if (const auto byte = byte_of_token_text(spelling)) return std::string(1, static_cast<char>(*byte));
  const Replacement spaces{.pattern = Pattern{.literal = parts_->space_mark, .regex = {}}, .content = " "};
  return spaces.apply(spelling);
}

std::string_view Tokenizer::token_text(TokenId id) const { return parts_->vocabulary.text_of(id); }

size_t Tokenizer::vocab_size() const { return parts_->vocabulary.size(); }

std::optional<TokenId> Tokenizer::id_of(std::string_view spelling) const {
  return parts_->vocabulary.find(spelling);
}

std::optional<TokenId> Tokenizer::bos() const { return parts_->bos; }

std::optional<TokenId> Tokenizer::eos() const { return parts_->eos; }

std::optional<TokenId> Tokenizer::unk() const { return parts_->unk; }

const std::vector<TokenId>& Tokenizer::end_of_generation() const { return parts_->end_of_generation; }

bool Tokenizer::is_end_of_generation(TokenId id) const {
  return std::ranges::binary_search(parts_->end_of_generation, id);
}

bool Tokenizer::is_special(TokenId id) const { return parts_->is_special(id); }

bool Tokenizer::adds_bos() const {
  return parts_->bos && !parts_->before.empty() && parts_->before.front() == *parts_->bos;
}

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, DecodeOptions options)
    : tokenizer_(tokenizer), options_(options), state_(tokenizer.parts_->decoder.start()) {}

std::string StreamDecoder::push(TokenId id) {
  const Tokenizer::Parts& parts = *tokenizer_.parts_;
  if (!parts.vocabulary.has(id) || (options_.skip_special && parts.is_special(id))) return {};
  return parts.decoder.push(state_, parts.vocabulary.text_of(id));
}

std::string StreamDecoder::finish() {
  std::string rest = tokenizer_.parts_->decoder.finish(state_);
  state_ = tokenizer_.parts_->decoder.start();
  return rest;
}

}  // namespace kvern::text
