// Tokenizer::from_gguf.
#include "text/gguf_tokenizer.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/utf8.h"
#include "text/bpe_model.h"
#include "text/end_tokens.h"
#include "text/gguf_patterns.h"
#include "text/score_merges.h"
#include "text/tokenizer_parts.h"
#include "text/unigram_model.h"

namespace kvern::text {
namespace {

constexpr std::string_view kSpaceMark = "\u2581";

// Leaves ids for the characters that are no tokens (score_merges.h).
constexpr size_t kMaxTokens = static_cast<size_t>(kMaxTokenId) / 2;

class GgufReader {
 public:
  GgufReader(const GgufTokenizer& data, const std::string& where)
      : data_(data), where_(where), parts_(std::make_unique<Tokenizer::Parts>()) {}

  Result<std::unique_ptr<Tokenizer>> read() {
    KVERN_TRY_STATUS(check_sizes());
    KVERN_TRY_STATUS(read_tokens());
    KVERN_TRY_STATUS(read_ids());
    if (data_.model == "gpt2") {
      KVERN_TRY_STATUS(read_byte_level());
    } else if (data_.model == "llama") {
      KVERN_TRY_STATUS(read_sentence_piece_bpe());
    } else if (data_.model == "t5") {
      KVERN_TRY_STATUS(read_unigram());
    } else {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("tokenizer.ggml.model: \"{}\" is not supported; supported are gpt2, llama, t5",
                              data_.model),
                  where_);
    }
    read_literals();
    return std::make_unique<Tokenizer>(std::unique_ptr<const Tokenizer::Parts>(std::move(parts_)));
  }

 private:
  std::unexpected<Error> corrupt(std::string message) const {
    return fail(ErrorCode::kCorrupt, std::move(message), where_);
  }

  GgufTokenType type_of(size_t index) const {
    return data_.token_types.empty() ? GgufTokenType::kNormal
                                     : static_cast<GgufTokenType>(data_.token_types[index]);
  }

  Status check_sizes() const {
    const size_t count = data_.tokens.size();
    if (count == 0) return corrupt("tokenizer.ggml.tokens: absent or empty");
    if (count > kMaxTokens)
      return corrupt(fmt::format("tokenizer.ggml.tokens: {} tokens; at most {} are read", count, kMaxTokens));
    if (!data_.scores.empty() && data_.scores.size() != count)
      return corrupt(
          fmt::format("tokenizer.ggml.scores: {} scores for {} tokens", data_.scores.size(), count));
    if (!data_.token_types.empty() && data_.token_types.size() != count)
      return corrupt(
          fmt::format("tokenizer.ggml.token_type: {} types for {} tokens", data_.token_types.size(), count));
    return Ok{};
  }

  Status read_tokens() {
    size_t bytes = 0;
    for (const std::string& token : data_.tokens) bytes += token.size();
    if (bytes >= size_t{1} << 31)
      return corrupt(fmt::format("tokenizer.ggml.tokens: {} bytes of text", bytes));
    parts_->vocabulary.reserve(data_.tokens.size(), bytes);
    for (size_t i = 0; i < data_.tokens.size(); ++i) {
      const std::string& token = data_.tokens[i];
      const auto type = static_cast<int32_t>(type_of(i));
      if (type < static_cast<int32_t>(GgufTokenType::kNormal) ||
          type > static_cast<int32_t>(GgufTokenType::kByte))
        return corrupt(fmt::format("tokenizer.ggml.token_type[{}]: {} is no token type", i, type));
      if (type_of(i) == GgufTokenType::kByte && !byte_of_token_text(token))
        return corrupt(fmt::format("tokenizer.ggml.tokens[{}]: \"{}\" is no byte token such as <0x0A>", i,
                                   replace_invalid_utf8(token)));
      if (!data_.scores.empty() && !std::isfinite(data_.scores[i]))
        return corrupt(fmt::format("tokenizer.ggml.scores[{}]: not a finite number", i));
      const auto id = static_cast<TokenId>(i);
      if (is_valid_utf8(token))
        parts_->vocabulary.add(token, id);
      else
        parts_->vocabulary.add(replace_invalid_utf8(token), id);
    }
    return Ok{};
  }

  Result<std::optional<TokenId>> checked_id(std::optional<int64_t> id, std::string_view key) const {
    // Converters write -1 (or its unsigned forms) for "none".
    if (!id || *id == -1 || *id == 0xFFFFFFFF) return std::optional<TokenId>();
    if (*id < 0 || static_cast<uint64_t>(*id) >= data_.tokens.size())
      return corrupt(
          fmt::format("tokenizer.ggml.{}: {} is not an id of the {} tokens", key, *id, data_.tokens.size()));
    return std::optional<TokenId>(static_cast<TokenId>(*id));
  }

  Status read_ids() {
    KVERN_TRY(parts_->bos, checked_id(data_.bos_id, "bos_token_id"));
    KVERN_TRY(parts_->eos, checked_id(data_.eos_id, "eos_token_id"));
    KVERN_TRY(parts_->unk, checked_id(data_.unk_id, "unknown_token_id"));
    KVERN_TRY(const auto eot, checked_id(data_.eot_id, "eot_token_id"));
    KVERN_TRY(const auto eom, checked_id(data_.eom_id, "eom_token_id"));
    if (data_.model == "llama") {
      // SentencePiece's defaults, which files may leave out.
      default_id(parts_->unk, 0, GgufTokenType::kUnknown);
      default_id(parts_->bos, 1, GgufTokenType::kControl);
      default_id(parts_->eos, 2, GgufTokenType::kControl);
    }
    std::vector<TokenId> named;
    for (const auto& id : {parts_->eos, eot, eom})
      if (id) named.push_back(*id);
    parts_->end_of_generation = find_end_tokens(parts_->vocabulary, named);
    return Ok{};
  }

  void default_id(std::optional<TokenId>& id, TokenId usual, GgufTokenType type) const {
    const auto index = static_cast<size_t>(usual);
    if (!id && index < data_.tokens.size() && type_of(index) == type) id = usual;
  }

  /// Tokens that ordinary text never becomes.
  std::vector<bool> never_from_text() const {
    std::vector<bool> never(data_.tokens.size());
    for (size_t i = 0; i < never.size(); ++i) {
      const GgufTokenType type = type_of(i);
      never[i] = type == GgufTokenType::kControl || type == GgufTokenType::kUnknown ||
                 type == GgufTokenType::kByte || type == GgufTokenType::kUnused ||
                 parts_->unk == static_cast<TokenId>(i);
    }
    return never;
  }

  void add_bos_eos(bool bos_by_default, bool eos_by_default) {
    if (data_.add_bos.value_or(bos_by_default) && parts_->bos) parts_->before.push_back(*parts_->bos);
    if (data_.add_eos.value_or(eos_by_default) && parts_->eos) parts_->after.push_back(*parts_->eos);
  }

  Status read_byte_level() {
    KVERN_TRY(const GgufPreTokenizer pre,
              find_gguf_pre_tokenizer(data_.pre.empty() ? std::string_view("default") : data_.pre, where_));
    if (pre.nfc) parts_->normalizer.add(UnicodeForm::kNfc);
    if (data_.add_space_prefix.value_or(false)) parts_->pre_tokenizer.add(PrefixSpaceStep{});
    for (const std::string_view pattern : pre.patterns) {
      KVERN_TRY(Regex regex, Regex::compile(pattern, where_));
      parts_->pre_tokenizer.add(SplitStep{.pattern = Pattern{.literal = {}, .regex = std::move(regex)}});
    }
    parts_->pre_tokenizer.add(ByteLevelStep{});
    KVERN_TRY(MergeTable merges, read_merges());
    parts_->model = std::make_unique<BpeModel>(
        parts_->vocabulary, std::move(merges),
        BpeOptions{
            .unk = parts_->unk, .ignore_merges = pre.ignore_merges, .never_from_text = never_from_text()});
    parts_->byte_level = true;
    parts_->decoder.add(DecodeByteLevel{});
    add_bos_eos(pre.add_bos, false);
    return Ok{};
  }

  Result<MergeTable> read_merges() const {
    MergeTable table;
    table.reserve(data_.merges.size());
    const std::vector<bool> never = never_from_text();
    std::string joined;
    for (size_t i = 0; i < data_.merges.size(); ++i) {
      const std::string_view merge = data_.merges[i];
      // A token may begin with a space only in old files, so the separator is the first one after the first
      // byte.
      const size_t space = merge.find(' ', 1);
      if (space == std::string_view::npos || space + 1 == merge.size())
        return corrupt(fmt::format("tokenizer.ggml.merges[{}]: \"{}\" is not two tokens", i,
                                   replace_invalid_utf8(merge)));
      const auto left = parts_->vocabulary.find(merge.substr(0, space));
      const auto right = parts_->vocabulary.find(merge.substr(space + 1));
      joined.assign(merge.substr(0, space)).append(merge.substr(space + 1));
      const auto result = parts_->vocabulary.find(joined);
      if (!left || !right || !result)
        return corrupt(
            fmt::format("tokenizer.ggml.merges[{}]: \"{}\" names or makes a token that does not exist", i,
                        replace_invalid_utf8(merge)));
      if (never[static_cast<size_t>(*result)]) continue;
      table.set(*left, *right, {.rank = static_cast<uint32_t>(i), .result = *result});
    }
    return table;
  }

  void add_sentence_piece_text(bool prefix) {
    if (prefix) parts_->normalizer.add(Prepend{std::string(kSpaceMark)});
    parts_->normalizer.add(
        Replacement{.pattern = Pattern{.literal = " ", .regex = {}}, .content = std::string(kSpaceMark)});
    parts_->space_mark = kSpaceMark;
    parts_->decoder.add(DecodeReplace{
        Replacement{.pattern = Pattern{.literal = std::string(kSpaceMark), .regex = {}}, .content = " "}});
    parts_->decoder.add(DecodeByteFallback{});
    parts_->decoder.add(DecodeFuse{});
    if (prefix) parts_->decoder.add(DecodeStrip{.character = " ", .start = 1});
  }

  Status read_sentence_piece_bpe() {
    if (data_.scores.empty())
      return corrupt("tokenizer.ggml.scores: absent, but model \"llama\" merges by score");
    add_sentence_piece_text(data_.add_space_prefix.value_or(true));
    ScoreMerges merges = merges_from_scores(parts_->vocabulary, data_.scores, never_from_text());
    parts_->model = std::make_unique<BpeModel>(parts_->vocabulary, std::move(merges.table),
                                               BpeOptions{.unk = parts_->unk,
                                                          .fuse_unk = true,
                                                          .byte_fallback = true,
                                                          .never_from_text = never_from_text()},
                                               std::move(merges.partial));
    add_bos_eos(true, false);
    return Ok{};
  }

  Status read_unigram() {
    if (data_.scores.empty())
      return corrupt("tokenizer.ggml.scores: absent, but model \"t5\" needs probabilities");
    if (!data_.precompiled_charsmap.empty()) {
      KVERN_TRY(CharacterMap map,
                CharacterMap::parse(data_.precompiled_charsmap, CharacterMap::Matching::kLongest, where_));
      parts_->normalizer.add(std::move(map));
    }
    if (data_.remove_extra_whitespaces.value_or(false)) parts_->normalizer.add(RemoveExtraSpaces{});
    add_sentence_piece_text(data_.add_space_prefix.value_or(true));
    parts_->model = std::make_unique<UnigramModel>(
        parts_->vocabulary, std::vector<double>(data_.scores.begin(), data_.scores.end()),
        UnigramOptions{.unk = parts_->unk, .byte_fallback = true, .never_from_text = never_from_text()});
    add_bos_eos(false, true);
    return Ok{};
  }

  void read_literals() {
    parts_->special.resize(data_.tokens.size());
    for (size_t i = 0; i < data_.tokens.size(); ++i) {
      const GgufTokenType type = type_of(i);
      const bool special = type == GgufTokenType::kControl || type == GgufTokenType::kUnknown;
      if (!special && type != GgufTokenType::kUserDefined) continue;
      const auto id = static_cast<TokenId>(i);
      parts_->add_literal(
          {.content = std::string(parts_->vocabulary.text_of(id)), .id = id, .special = special});
    }
  }

  const GgufTokenizer& data_;
  const std::string& where_;
  std::unique_ptr<Tokenizer::Parts> parts_;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::from_gguf(const GgufTokenizer& data, const std::string& where) {
  return GgufReader(data, where).read();
}

}  // namespace kvern::text
