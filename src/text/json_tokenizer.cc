// Tokenizer::from_json.
#include <algorithm>

#include <fmt/format.h>

#include "text/end_tokens.h"
#include "text/json_components.h"
#include "text/json_model.h"
#include "text/tokenizer_parts.h"

namespace kvern::text {
namespace {

// Classes of `transformers` that put BOS and EOS around a text as their own settings say, whatever the
// post-processor of tokenizer.json does.
constexpr std::string_view kClassesWithSettings[] = {"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer",
                                                     "CohereTokenizer"};

class JsonReader {
 public:
  JsonReader(const json::value& root, const json::value& config, const std::string& where)
      : root_(&root, "", where), config_(&config, "", where), parts_(std::make_unique<Tokenizer::Parts>()) {}

  Result<std::unique_ptr<Tokenizer>> read() {
    KVERN_TRY_STATUS(root_.as_object());
    const JsonField model = root_.member("model");
    KVERN_TRY_STATUS(model.as_object());
    KVERN_TRY(const JsonModelType type, read_model_type(model));
    KVERN_TRY_STATUS(read_model_vocabulary(model, type, parts_->vocabulary));
    const size_t model_tokens = parts_->vocabulary.size();
    KVERN_TRY_STATUS(read_normalizer(root_.member("normalizer"), parts_->normalizer));
    KVERN_TRY_STATUS(read_added_tokens());
    KVERN_TRY_STATUS(read_pre_tokenizer(root_.member("pre_tokenizer"), parts_->pre_tokenizer));
    KVERN_TRY_STATUS(read_decoder(root_.member("decoder"), parts_->decoder));
    KVERN_TRY(parts_->unk, read_model_unk(model, type, parts_->vocabulary));
    KVERN_TRY(parts_->model, read_model(model, type, parts_->vocabulary, never_from_text(model_tokens)));
    Surroundings surroundings;
    KVERN_TRY_STATUS(read_post_processor(root_.member("post_processor"), parts_->vocabulary, surroundings));
    parts_->before = std::move(surroundings.before);
    parts_->after = std::move(surroundings.after);
    KVERN_TRY_STATUS(read_config());
    read_spelling();
    return std::make_unique<Tokenizer>(std::unique_ptr<const Tokenizer::Parts>(std::move(parts_)));
  }

 private:
  Status read_added_tokens() {
    const JsonField list = root_.member("added_tokens");
    if (!list.present()) return Ok{};
    KVERN_TRY(const json::array* array, list.as_array());
    const auto limit =
        std::min<int64_t>(kMaxTokenId, 2 * static_cast<int64_t>(parts_->vocabulary.size()) + 65536);
    for (size_t i = 0; i < array->size(); ++i) {
      const JsonField entry = list.element(i);
      KVERN_TRY(const AddedToken token, read_added_token(entry));
      if (token.id < 0 || token.id >= limit)
        return entry.member("id").corrupt(fmt::format("{} is not from 0 to {}", token.id, limit - 1));
      if (const auto id = parts_->vocabulary.find(token.content); id && *id != token.id)
        return entry.corrupt(
            fmt::format("\"{}\" is token {} in the vocabulary, {} here", token.content, *id, token.id));
      if (!parts_->vocabulary.add(token.content, token.id) &&
          parts_->vocabulary.text_of(token.id) != token.content)
        return entry.corrupt(fmt::format("token {} is \"{}\" in the vocabulary, \"{}\" here", token.id,
                                         parts_->vocabulary.text_of(token.id), token.content));
      parts_->add_literal(token);
    }
    return Ok{};
  }

  Result<AddedToken> read_added_token(const JsonField& entry) const {
    AddedToken token;
    KVERN_TRY(token.content, entry.member("content").as_string());
    if (token.content.empty()) return entry.member("content").corrupt("empty");
    KVERN_TRY(const int64_t id, entry.member("id").as_integer());
    token.id = id < 0 || id >= kMaxTokenId ? -1 : static_cast<TokenId>(id);
    KVERN_TRY(token.special, entry.member("special").bool_or(false));
    KVERN_TRY(token.normalized, entry.member("normalized").bool_or(!token.special));
    KVERN_TRY(token.single_word, entry.member("single_word").bool_or(false));
    KVERN_TRY(token.lstrip, entry.member("lstrip").bool_or(false));
    KVERN_TRY(token.rstrip, entry.member("rstrip").bool_or(false));
    return token;
  }

  /// Special tokens, and added ones that the model does not have.
  std::vector<bool> never_from_text(size_t model_tokens) const {
    std::vector<bool> never = parts_->special;
    never.resize(parts_->vocabulary.size());
    for (size_t i = model_tokens; i < never.size(); ++i) never[i] = true;
    return never;
  }

  /// A token that tokenizer_config.json names: a string, or an object with its content.
  Result<std::optional<TokenId>> configured_token(std::string_view key) const {
    JsonField field = config_.member(key);
    if (!field.present()) return std::optional<TokenId>();
    if (field.member("content").present()) field = field.member("content");
    KVERN_TRY(const std::string_view text, field.as_string());
    const auto id = parts_->vocabulary.find(text);
    if (!id) return field.corrupt(fmt::format("\"{}\" is not in the vocabulary", text));
    return id;
  }

  Status read_config() {
    KVERN_TRY(parts_->bos, configured_token("bos_token"));
    KVERN_TRY(parts_->eos, configured_token("eos_token"));
    KVERN_TRY_STATUS(apply_class_settings());
    if (!parts_->bos && !config_.present() && !parts_->before.empty()) parts_->bos = parts_->before.front();
    std::vector<TokenId> named;
    if (parts_->eos) named.push_back(*parts_->eos);
    parts_->end_of_generation = find_end_tokens(parts_->vocabulary, named);
    return Ok{};
  }

  Status apply_class_settings() {
    KVERN_TRY(std::string_view name, config_.member("tokenizer_class").string_or(""));
    if (name.ends_with("Fast")) name.remove_suffix(4);
    if (std::ranges::find(kClassesWithSettings, name) == std::end(kClassesWithSettings)) return Ok{};
    if (const JsonField setting = config_.member("add_bos_token"); setting.present()) {
      KVERN_TRY(const bool add, setting.as_bool());
      parts_->before.clear();
      if (add && parts_->bos) parts_->before.push_back(*parts_->bos);
    }
    if (const JsonField setting = config_.member("add_eos_token"); setting.present()) {
      KVERN_TRY(const bool add, setting.as_bool());
      parts_->after.clear();
      if (add && parts_->eos) parts_->after.push_back(*parts_->eos);
    }
    return Ok{};
  }

  /// How the vocabulary spells bytes and spaces.
  void read_spelling() {
    parts_->byte_level = parts_->decoder.maps_bytes();
    parts_->space_mark = parts_->decoder.space_mark();
  }

  JsonField root_;
  JsonField config_;
  std::unique_ptr<Tokenizer::Parts> parts_;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::from_json(std::string_view tokenizer_json,
                                                        std::string_view config_json,
                                                        const std::string& where) {
  KVERN_TRY(const json::value root, parse_json(tokenizer_json, where));
  json::value config;
  if (!config_json.empty()) {
    KVERN_TRY(config, parse_json(config_json, where + " (tokenizer_config.json)"));
  }
  return JsonReader(root, config, where).read();
}

}  // namespace kvern::text
