#include "text/json_model.h"

#include <fmt/format.h>

#include "text/bpe_model.h"
#include "text/unigram_model.h"

namespace kvern::text {
namespace {

// Ids may have gaps, but the table of ids stays in proportion to the file.
constexpr int64_t kMaxGaps = 65536;

Status read_bpe_vocabulary(const JsonField& field, Vocabulary& vocabulary) {
  KVERN_TRY(const json::object* entries, field.as_object());
  const int64_t limit = std::min<int64_t>(kMaxTokenId, 2 * static_cast<int64_t>(entries->size()) + kMaxGaps);
  size_t bytes = 0;
  for (const auto& entry : *entries) bytes += entry.key().size();
  vocabulary.reserve(entries->size(), bytes);
  for (const auto& entry : *entries) {
    json::error_code error;
    const auto id = entry.value().is_number() ? entry.value().to_number<int64_t>(error) : -1;
    if (error || id < 0 || id >= limit)
      return field.corrupt(fmt::format("the id of \"{}\" is no whole number from 0 to {}",
                                       std::string_view(entry.key()), limit - 1));
    if (!vocabulary.add(entry.key(), static_cast<TokenId>(id)))
      return field.corrupt(fmt::format("\"{}\" has id {}, which \"{}\" has too",
                                       std::string_view(entry.key()), id,
                                       vocabulary.text_of(static_cast<TokenId>(id))));
  }
  return Ok{};
}

Status read_unigram_vocabulary(const JsonField& field, Vocabulary& vocabulary) {
  KVERN_TRY(const json::array* entries, field.as_array());
  if (entries->size() > static_cast<size_t>(kMaxTokenId)) return field.corrupt("too many tokens");
  vocabulary.reserve(entries->size(), entries->size() * 8);
  for (size_t i = 0; i < entries->size(); ++i) {
    const JsonField entry = field.element(i);
    KVERN_TRY(const std::string_view text, entry.element(0).as_string());
    KVERN_TRY([[maybe_unused]] const double score, entry.element(1).as_number());
    vocabulary.add(text, static_cast<TokenId>(i));
  }
  return Ok{};
}

/// The two sides of one merge: "left right" or ["left", "right"].
Result<std::pair<std::string_view, std::string_view>> read_merge(const JsonField& field,
                                                                 const json::value& value) {
  if (value.is_string()) {
    const std::string_view text = value.get_string();
    const size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos)
      return field.corrupt(fmt::format("\"{}\" is not two tokens", text));
    return std::pair(text.substr(0, space), text.substr(space + 1));
  }
  const json::array* pair = value.if_array();
  if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_string())
    return field.corrupt("expected \"left right\" or [\"left\", \"right\"]");
  return std::pair(std::string_view((*pair)[0].get_string()), std::string_view((*pair)[1].get_string()));
}

Result<MergeTable> read_merges(const JsonField& field, const Vocabulary& vocabulary,
                               const BpeOptions& options) {
  MergeTable table;
  KVERN_TRY(const json::array* merges, field.as_array());
  table.reserve(merges->size());
  std::string joined;
  for (size_t i = 0; i < merges->size(); ++i) {
    auto sides = read_merge(field, (*merges)[i]);
    if (!sides) return field.element(i).corrupt("expected \"left right\" or [\"left\", \"right\"]");
    const auto [left, right] = *sides;
    const size_t prefix = std::min(options.subword_prefix.size(), right.size());
    joined.assign(left).append(right.substr(prefix));
    const auto left_id = vocabulary.find(left);
    const auto right_id = vocabulary.find(right);
    const auto result = vocabulary.find(joined);
    for (const auto& [id, text] :
         {std::pair(left_id, left), std::pair(right_id, right), std::pair(result, std::string_view(joined))})
      if (!id) return field.element(i).corrupt(fmt::format("\"{}\" is not in the vocabulary", text));
    if (options.never_from_text[static_cast<size_t>(*result)]) continue;
    table.set(*left_id, *right_id, {.rank = static_cast<uint32_t>(i), .result = *result});
  }
  return table;
}

Result<std::unique_ptr<Model>> read_bpe(const JsonField& field, const Vocabulary& vocabulary,
                                        std::vector<bool> never_from_text) {
  if (const JsonField dropout = field.member("dropout"); dropout.present()) {
    KVERN_TRY(const double rate, dropout.as_number());
    if (rate != 0) return dropout.unsupported("random merges are not supported");
  }
  BpeOptions options;
  KVERN_TRY(options.unk, read_model_unk(field, JsonModelType::kBpe, vocabulary));
  KVERN_TRY(options.fuse_unk, field.member("fuse_unk").bool_or(false));
  KVERN_TRY(options.byte_fallback, field.member("byte_fallback").bool_or(false));
  KVERN_TRY(options.ignore_merges, field.member("ignore_merges").bool_or(false));
  KVERN_TRY(options.subword_prefix, field.member("continuing_subword_prefix").string_or(""));
  KVERN_TRY(options.end_of_word_suffix, field.member("end_of_word_suffix").string_or(""));
  options.never_from_text = std::move(never_from_text);
  KVERN_TRY(MergeTable merges, read_merges(field.member("merges"), vocabulary, options));
  return std::make_unique<BpeModel>(vocabulary, std::move(merges), std::move(options));
}

Result<std::unique_ptr<Model>> read_unigram(const JsonField& field, const Vocabulary& vocabulary,
                                            std::vector<bool> never_from_text) {
  UnigramOptions options{.unk = {}, .byte_fallback = false, .never_from_text = std::move(never_from_text)};
  KVERN_TRY(options.unk, read_model_unk(field, JsonModelType::kUnigram, vocabulary));
  KVERN_TRY(options.byte_fallback, field.member("byte_fallback").bool_or(false));
  const JsonField entries = field.member("vocab");
  KVERN_TRY(const json::array* array, entries.as_array());
  // Added tokens beyond the model's vocabulary have no score and are never made from text.
  std::vector<double> scores(vocabulary.size());
  for (size_t i = 0; i < array->size(); ++i) {
    KVERN_TRY(scores[i], entries.element(i).element(1).as_number());
  }
  for (size_t i = array->size(); i < scores.size(); ++i) scores[i] = array->empty() ? 0 : scores[0];
  return std::make_unique<UnigramModel>(vocabulary, std::move(scores), std::move(options));
}

}  // namespace

Result<JsonModelType> read_model_type(const JsonField& field) {
  const JsonField type = field.member("type");
  // The oldest files of BPE models do not say their type.
  if (!type.present() && field.member("merges").present()) return JsonModelType::kBpe;
  KVERN_TRY(const std::string_view name, type.as_string());
  if (name == "BPE") return JsonModelType::kBpe;
  if (name == "Unigram") return JsonModelType::kUnigram;
  return type.unsupported(fmt::format("model \"{}\" is not supported; supported are BPE, Unigram", name));
}

Status read_model_vocabulary(const JsonField& field, JsonModelType type, Vocabulary& vocabulary) {
  if (type == JsonModelType::kBpe) return read_bpe_vocabulary(field.member("vocab"), vocabulary);
  return read_unigram_vocabulary(field.member("vocab"), vocabulary);
}

Result<std::optional<TokenId>> read_model_unk(const JsonField& field, JsonModelType type,
                                              const Vocabulary& vocabulary) {
  const JsonField unk = field.member(type == JsonModelType::kBpe ? "unk_token" : "unk_id");
  if (!unk.present()) return std::optional<TokenId>();
  if (type == JsonModelType::kBpe) {
    KVERN_TRY(const std::string_view text, unk.as_string());
    const auto id = vocabulary.find(text);
    if (!id) return unk.corrupt(fmt::format("\"{}\" is not in the vocabulary", text));
    return id;
  }
  KVERN_TRY(const int64_t id, unk.as_integer());
  if (id < 0 || id >= kMaxTokenId || !vocabulary.has(static_cast<TokenId>(id)))
    return unk.corrupt(fmt::format("token {} does not exist", id));
  return std::optional<TokenId>(static_cast<TokenId>(id));
}

Result<std::unique_ptr<Model>> read_model(const JsonField& field, JsonModelType type,
                                          const Vocabulary& vocabulary, std::vector<bool> never_from_text) {
  never_from_text.resize(vocabulary.size());
  if (type == JsonModelType::kBpe) return read_bpe(field, vocabulary, std::move(never_from_text));
  return read_unigram(field, vocabulary, std::move(never_from_text));
}

}  // namespace kvern::text
